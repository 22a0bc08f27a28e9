"""What people type about answers."""

from typing import Any

from django import forms

from common.errors import Refused
from runs.models.reviews import LONGEST_NOTE, LONGEST_REASON


class _Saying(forms.Form):
    def refuse(self, refusal: Refused) -> None:
        """Show the refusal at the field it is about, else above the form."""
        field = next((name for name in refusal.details if name in self.fields), None)
        self.add_error(field, refusal.details[field] if field else refusal.message)


class NoteForm(_Saying):
    text = forms.CharField(
        max_length=LONGEST_NOTE,
        label="Note",
        help_text="Everyone in the workspace reads it.",
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class VerdictForm(_Saying):
    verdict = forms.ChoiceField(choices=[("correct", "Correct"), ("incorrect", "Incorrect")], widget=forms.RadioSelect)
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text="Why the answer deserves it. It is shown with the verdict.",
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )

    @property
    def is_correct(self) -> bool:
        return bool(self.cleaned_data["verdict"] == "correct")


def note_form(key: object, data: Any = None, text: str = "") -> NoteForm:
    """With field IDs of its own: a page has many of them."""
    return NoteForm(data, auto_id=f"note-{key}-%s", initial={"text": text} if text else None)


def verdict_form(key: object, data: Any = None, grader_says: bool | None = None) -> VerdictForm:
    """Chosen from the start is what the grader did not say."""
    initial = {} if grader_says is None else {"verdict": "incorrect" if grader_says else "correct"}
    return VerdictForm(data, auto_id=f"verdict-{key}-%s", initial=initial)
