"""How the verdicts on a recorded model's answers agree."""

from dataclasses import dataclass
from typing import Any

from gateway.enums import Agreement
from gateway.models import RecordedModel
from gateway.queries import agreement_counts


@dataclass(frozen=True, slots=True)
class AgreementCounts:
    """How many answers stand in each agreement. `compared` are those with an old verdict, `agreeing` those where both say the same."""

    counts: dict[str, int]
    compared: int
    agreeing: int
    ours_right: int
    theirs_right: int

    def document(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "compared": self.compared,
            "agreeing": self.agreeing,
            "ours_right": self.ours_right,
            "theirs_right": self.theirs_right,
        }


def agreement_of_model(model: RecordedModel) -> AgreementCounts:
    """Counts over all of the model's answers. An answer that ours could not read counts as not right by ours."""
    found = agreement_counts(model)
    counts = {kind.value: sum(number for (agreement, _), number in found.items() if agreement == kind) for kind in Agreement}
    theirs = sum(number for (_, was_correct), number in found.items() if was_correct)
    ours = counts[Agreement.BOTH_RIGHT] + counts[Agreement.ONLY_OURS]
    compared = sum(number for (_, was_correct), number in found.items() if was_correct is not None)
    both_not_right = counts[Agreement.BOTH_WRONG] + found.get((Agreement.OURS_UNREADABLE.value, False), 0)
    return AgreementCounts(counts, compared, counts[Agreement.BOTH_RIGHT] + both_not_right, ours, theirs)
