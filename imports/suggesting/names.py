"""What people call their columns, in the languages that data sets come in. Names are evidence, never proof."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"[a-z]+|[^\W\d_a-z]+|\d+")


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plain(word) for word in text.split()))


def plain(name: str) -> str:
    """The name in the form in which names are compared: `answerKey`, `Answer Key` and `ANSWER-KEY` become `answer_key`."""
    return "_".join(parts(name))


@lru_cache(maxsize=2048)
def parts(name: str) -> tuple[str, ...]:
    """The words and numbers of a name, without accents: `réponse1` → `reponse`, `1`."""
    text = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name)).casefold()
    text = unicodedata.normalize("NFC", "".join(mark for mark in text if unicodedata.category(mark) != "Mn" or ord(mark) > 0x0900))
    return tuple(_PARTS.findall(text))


ANSWER = _words(
    "answer gold_answer correct_answer right_answer final_answer reference_answer ground_truth gold target targets answers expected_answer"
    " expected expected_output ideal reference correct correct_option correct_choice answer_key answer_text answer_letter answer_label"
    " answer_index answer_idx correct_index correct_idx right_option gold_label label_text label_name label labels truth key cop"
    " golden reference_answers accepted_answers answer_json"
    " antwort richtige_antwort korrekte_antwort richtig loesung lösung ergebnis reponse bonne_reponse reponse_correcte solucion respuesta"
    " respuesta_correcta correcta resposta resposta_correta risposta risposta_corretta antwoord juiste_antwoord odpowiedz odpoved ответ"
    " правильный_ответ відповідь cevap dogru_cevap yanit svar vastaus jawaban dap_an απαντηση उत्तर คำตอบ"
    " 答え 回答 正解 解答 答 答案 正确答案 正確答案 标准答案 参考答案 답 정답 답변 جواب الجواب اجابة الاجابة a"
    " result category class intent sentiment output solution"
)
"""From the surest to the least: an earlier name wins over a later one."""
QUESTION = _words(
    "question problem query prompt question_text question_stem stem ques input instruction text utterance sentence claim statement message"
    " exercise task_description user_input review tweet comment headline title content request"
    " frage aufgabe fragestellung aufgabenstellung eingabe enonce pregunta problema enunciado pergunta questao domanda quesito vraag opgave"
    " pytanie zadanie otazka вопрос задача питання soru fraga fråga spørgsmål spoergsmaal kysymys pertanyaan cau_hoi ερωτηση प्रश्न คำถาม"
    " 質問 問題 問い 設問 问题 問題文 题目 題目 질문 문제 سؤال السؤال"
)
CONTEXT = _words(
    "context passage article story paragraph document body premise hypothesis background facts table dialogue conversation narrative"
    " description code scenario situation sentence_1 sentence_2 sentence1 sentence2 question_1 question_2 text_1 text_2 s1 s2 input"
    " kontext absatz artikel geschichte hintergrund contexte texte contexto texto contesto testo контекст текст 文脈 文章 本文 上下文 段落"
    " 문맥 지문 본문"
)
CHOICES = _words(
    "choices options alternatives candidates choice option endings answer_choices answer_options possible_answers candidate_answers"
    " answers mc_options optionen antworten antwortmoeglichkeiten antwortmöglichkeiten auswahl choix propositions opciones alternativas"
    " opcoes opzioni scelte keuzes opcje warianty варианты варианты_ответов secenekler alternativ vaihtoehdot pilihan"
    " 選択肢 选项 選項 보기 선택지 الخيارات"
)
CHOICE_STEMS = frozenset(
    _words(
        "choice option opt op alternative alt ending candidate sol answer ans response mc c variant antwort auswahl wahl choix proposition"
        " opcion opcao opzione scelta keuze opcja вариант secenek vaihtoehto pilihan 選択肢 选项 選項 보기 선택지"
    )
)
"""What stands before the number or letter where each choice has its own column."""
IDS = frozenset(
    _words(
        "id uid uuid guid qid idx index key pid item item_id question_id questionid q_id problem_id example_id sample_id row_id task_id"
        " record_id pair_id pairid doc_id document_id nr nummer number no num numero kennung"
        " identifiant identificador идентификатор 番号 编号"
        " 序号 번호 identifier custom_id"
    )
)
GROUPS = _words(
    "category subject topic task subtask type domain group language lang difficulty level skill field section area genre discipline subset"
    " split_name kategorie thema fach sprache schwierigkeit gruppe typ categorie sujet langue matiere categoria tema idioma materia"
    " категория тема язык 分野 カテゴリ カテゴリー 科目 言語 类别 类型 学科 语言 분류 과목 유형"
)
CLUSTERS = frozenset(
    _words(
        "cluster cluster_id passage_id story_id article_id context_id paragraph_id document_id doc_id family template_id"
        " source_id problem_id"
        " base_id parent_id original_id title_id conversation_id question_group"
    )
)
WORKINGS = frozenset(
    _words(
        "rationale rationales solution solutions explanation explanations explain reasoning equation equations steps step_by_step cot"
        " chain_of_thought working workings proof justification analysis derivation formula thought thoughts answer_explanation"
        " explanation_text full_solution worked_solution begruendung begründung erklaerung erklärung loesungsweg lösungsweg rechenweg"
        " herleitung explication raisonnement explicacion razonamiento solucion explicacao spiegazione uitleg wyjasnienie объяснение"
        " решение пояснение aciklama forklaring 解説 説明 解析 推理 解题过程 풀이 해설 설명 شرح"
    )
)
"""Columns that show how the answer is found: never sent to the model."""
OUTPUTS = frozenset(
    _words(
        "prediction predictions pred predicted generated generation generations completion completions model_output model_answer"
        " model_response model_name is_correct is_right correctness score filtered_resps resps exact_match acc"
    )
)
"""Columns that hold what some model said, or how it was graded."""
NOT_ANSWERS = frozenset(_words("not wrong incorrect false bad distractor distractors rejected falsch false_answer"))
"""Words in a name that make it the opposite of an answer."""
REMARKS = frozenset(
    _words("source src url link license licence author date year comment comments note notes metadata meta version split created_at page")
)


def is_named(name: str, known: Iterable[str]) -> bool:
    return plain(name) in known


def rank(name: str, known: tuple[str, ...]) -> float | None:
    """How far down a list the name stands, from 0; a whole list further where only its beginning or its end is one of them; else None."""
    words = parts(name)
    whole = "_".join(words)
    if whole in known:
        return known.index(whole)
    for length in range(len(words) - 1, 0, -1):
        for piece in ("_".join(words[:length]), "_".join(words[-length:])):
            if len(piece) > 1 and piece in known:
                return len(known) + known.index(piece)
    return None


def series(name: str) -> tuple[str, int] | None:
    """The stem and the place of a name that ends in a number or a letter from a to j: `choice_b` → ("choice", 1); `B` → ("", 1)."""
    words = parts(name)
    if not words:
        return None
    stem, last = "_".join(words[:-1]), words[-1]
    if last.isdecimal() and len(last) < 3:
        return stem, int(last)
    if len(last) == 1 and "a" <= last <= "j":
        return stem, ord(last) - ord("a")
    if not stem and len(last) == 3 and last.startswith("op") and "a" <= last[2] <= "j":  # opa, opb, as some files have it
        return "op", ord(last[2]) - ord("a")
    return None
