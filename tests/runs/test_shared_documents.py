"""What a link shows, as pure functions: names, notices, and that nothing unnamed comes along."""

from typing import Any

from runs.sharing.choices import Choices, private_names, shown_labels
from runs.sharing.showing import shown_result

HEADLINE = {"metric": "accuracy", "name": "Accuracy", "value": 0.5, "n": 4, "stderr": None, "interval": None}


def subject(index: int, label: str, kind: str | None, **more: Any) -> dict[str, Any]:
    named = {} if kind is None else {"kind": kind}
    figures = {"headline": HEADLINE, "metrics": [], "groups": [], "counts": {}, "bounds": None, "error_codes": [], "latency_ms": {}}
    return {"index": index, "label": label, "benchmark_index": 0, "stopped": None, **figures, **named, **more}


def document(*subjects: dict[str, Any], **more: Any) -> dict[str, Any]:
    benchmarks = [{"profile_id": "a@1", "slug": "a", "version": 1, "name": "A", "private": False, "internal": "inside"}]
    base = {"run_id": "inside", "version": 1, "status": "completed", "benchmark": benchmarks[0], "benchmarks": benchmarks}
    base |= {"selection": {"output_format": "default", "internal": "inside"}, "grading": 1, "coverage": {"planned": 4, "full": True}}
    return {**base, "subjects": list(subjects), "billing": {"total_microusd": "inside"}, "notices": [], **more}


def shown(made: dict[str, Any], choices: Choices | None = None) -> dict[str, Any]:
    return shown_result(made, None, choices or Choices(), benchmark_index=0, sha256="a" * 64, workspace_name="inside")


def test_several_private_models_are_numbered_by_kind_and_unknown_kinds_are_private() -> None:
    subjects = [
        subject(0, "x", "connection"),
        subject(1, "y", "connection"),
        subject(2, "z", "recorded"),
        subject(3, "w", None),
        subject(4, "m", "managed"),
    ]
    assert [(each.index, each.own, each.shown) for each in private_names(subjects)] == [
        (0, "x", "Own endpoint 1"),
        (1, "y", "Own endpoint 2"),
        (2, "z", "Recorded answers"),
        (3, "w", "Model"),
    ]
    labels = shown_labels(subjects, Choices(labels={1: "Ours"}))
    assert labels == {0: "Own endpoint 1", 1: "Ours", 2: "Recorded answers", 3: "Model", 4: "m"}


def test_model_on_two_benchmarks_is_one_name() -> None:
    subjects = [subject(0, "x", "connection"), subject(0, "x", "connection", benchmark_index=1)]
    assert [each.index for each in private_names(subjects)] == [0]


def test_what_is_not_named_stays_inside() -> None:
    made = document(subject(0, "m", "managed", charge_microusd="inside", usage={"input_tokens": "inside"}, later="inside"), later="inside")
    assert "inside" not in str(shown(made))
    assert shown(made)["subjects"][0].keys() == {
        "label",
        "index",
        "benchmark_index",
        "kind",
        "stopped",
        "headline",
        "metrics",
        "groups",
        "counts",
        "bounds",
        "error_codes",
        "latency_ms",
    }


def test_notices_of_private_models_stay_inside_also_where_their_name_begins_like_a_public_one() -> None:
    notices = [
        "acme: asked for a-1, the provider answered as a-1b.",
        "acme: secret lab: asked for s, the provider answered as s2.",
        "dice is a baseline, not a model: it answers without reading the question.",
        "secret lab was truncated.",
        "A sentence of which nothing is known.",
        "one_attempt",
    ]
    made = document(
        subject(0, "acme", "managed"), subject(1, "acme: secret lab", "connection"), subject(2, "dice", "baseline"), notices=notices
    )
    assert shown(made)["notices"] == [notices[0], notices[2], notices[5]]


def test_title_is_the_benchmarks_unless_another_is_chosen() -> None:
    made = document(subject(0, "m", "managed"))
    assert [shown(made)["title"], shown(made, Choices(title="For you"))["title"]] == ["A", "For you"]
    assert [shown(made)["workspace"], shown(made, Choices(shows_workspace=True))["workspace"]] == [None, "inside"]
