"""Whether a model can run a benchmark version. Each refusal has its code and says what is in the way."""

from dataclasses import dataclass

from catalog.models import BenchmarkVersion, ModelRoute
from common.errors import Refused
from gateway.metering import TOKENS_A_CALL
from runs.enums import SubjectKind
from runs.resolving import ResolvedSubject

BYTES_A_TOKEN = 4
"""A token is at least about this many bytes of ordinary text: a prompt is refused only where it surely does not fit."""


@dataclass(frozen=True, slots=True)
class Refusal:
    code: str
    message: str


def route_refusal(version: BenchmarkVersion, route: ModelRoute, *, output_limit: int, reasoning: dict[str, object]) -> Refusal | None:
    """Why the route cannot run the version, None where it can."""
    if version.capability not in route.capabilities:
        return Refusal("capability_missing", f"{route.route_id} cannot do {version.capability}, which {version.profile_id} needs.")
    if output_limit > route.max_output_tokens:
        return Refusal(
            "output_limit_too_large", f"{route.route_id} writes at most {route.max_output_tokens:,} tokens; {output_limit:,} are asked for."
        )
    needed = version.longest_prompt_bytes // BYTES_A_TOKEN + TOKENS_A_CALL + output_limit
    if needed > route.context_limit:
        return Refusal(
            "context_too_small",
            f"The longest prompt of {version.profile_id} with its answer needs about {needed:,} tokens; {route.route_id} takes "
            f"{route.context_limit:,}.",
        )
    effort = reasoning.get("effort")
    if effort is not None and effort not in route.reasoning_efforts:
        listed = ", ".join(route.reasoning_efforts)
        return Refusal(
            "reasoning_unsupported", f"{route.route_id} takes no reasoning effort {effort!r}" + (f"; it takes {listed}." if listed else ".")
        )
    if "budget_tokens" in reasoning and not route.takes_reasoning_budget:
        return Refusal("reasoning_unsupported", f"{route.route_id} takes no budget of reasoning tokens.")
    return None


def check_compatible(version: BenchmarkVersion, subject: ResolvedSubject, *, output_limit: int, attempts: int = 1) -> None:
    """Raise Refused `incompatible_model` (the reason in `details`) where the subject cannot run the version."""
    if subject.recorded is not None and subject.recorded.version_id != version.pk:
        raise Refused(
            "incompatible_model",
            f"The recorded answers {subject.label!r} belong to {subject.recorded.version.profile_id} and answer no other version.",
            details={"model": subject.label, "reason": "recorded_for_another_version"},
        )
    if subject.recorded is not None and attempts > 1:
        raise Refused(
            "incompatible_model",
            f"The recorded answers {subject.label!r} hold one answer a task; {attempts} attempts are asked for.",
            details={"model": subject.label, "reason": "recorded_one_attempt"},
        )
    if subject.kind == SubjectKind.MANAGED and subject.route is not None:
        refusal = route_refusal(version, subject.route, output_limit=output_limit, reasoning=subject.reasoning)
        if refusal is not None:
            raise Refused("incompatible_model", refusal.message, details={"model": subject.label, "reason": refusal.code})
