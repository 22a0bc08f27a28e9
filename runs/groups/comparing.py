"""The comparison of a group's results, in the shape of the API. Pure: what comes back is frozen with the group.

Results that are alike are compared by the function that compares the models of a run. Others stand beside them with their own score and
the reasons why no difference is computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runs.comparing import ComparedSubject, CompareInputs, compare
from runs.groups.likeness import Unlike, differences, sets_of
from runs.groups.members import Member, judged, labels_of, member_document
from runs.groups.policy import Candidate, Policy, decide
from runs.statistics import ACCURACY


def group_document(members: Sequence[Member], *, baseline: int, policy: Policy) -> dict[str, Any]:
    """What a group freezes: its members, what is alike, the comparisons, and what the checks say.

    A place in `members` is what `baseline`, `ranking`, `pairs`, `checks` and `reasons` name.
    """
    labels = labels_of(members)
    unlike = {place: differences(members[baseline].protocol, member.protocol) for place, member in enumerate(members)}
    sets = sorted(sets_of([member.protocol for member in members]), key=lambda places: baseline not in places)
    compared = [_compared(members, labels, places) for places in sets if baseline in places or len(places) > 1]
    first = compared[0]
    against = _against_baseline(first["pairs"], baseline, [place for place in range(len(members)) if place != baseline])
    verdict = decide(policy, _candidates(members, labels, baseline, unlike, first, against))
    return {
        "baseline": baseline,
        "members": [member_document(place, member, labels[place]) for place, member in enumerate(members)],
        "unlike": [
            {"member": place, "differences": [difference.document() for difference in found]} for place, found in unlike.items() if found
        ],
        "ranking": first["ranking"],
        "pairs": first["pairs"],
        "against_baseline": against,
        "comparisons": compared,
        "summary": _summary(first, unlike),
        "policy": policy.document(),
        "decision": verdict.decision,
        "checks": [check.document() for check in verdict.checks],
        "reasons": verdict.reasons,
    }


def _compared(members: Sequence[Member], labels: Sequence[str], places: Sequence[int]) -> dict[str, Any]:
    """The comparison of alike members: `compare`'s document, in which subjects are the group's members."""
    first = members[places[0]]
    subjects = [
        ComparedSubject(
            place,
            labels[place],
            members[place].scores,
            members[place].charge_microusd,
            str(members[place].subject["stopped"] or ""),
            members[place].has_external_charges,
            members[place].reasons,
        )
        for place in places
    ]
    attempts = first.protocol.attempts
    # As in a run: several attempts at a task are one value, their mean, and that is a grade between right and wrong.
    metric = ACCURACY if attempts == 1 else replace(ACCURACY, is_binary=False)
    document = compare(CompareInputs("", first.protocol.profile_id, subjects, metric, first.clusters, attempts))
    return judged(document, places, members)


def _against_baseline(pairs: Sequence[Mapping[str, Any]], baseline: int, candidates: Sequence[int]) -> list[dict[str, Any]]:
    """Each candidate's difference to the baseline, candidate − baseline; null where none was computed."""
    found = {(pair["a"], pair["b"]): pair for pair in pairs}
    rows = []
    for place in candidates:
        ahead, behind = found.get((place, baseline)), found.get((baseline, place))
        pair = ahead or behind
        interval = pair["interval"] if pair else None
        if behind and interval:
            interval = {**interval, "low": 0.0 - interval["high"], "high": 0.0 - interval["low"]}
        rows.append(
            {
                "member": place,
                "difference": None if pair is None else pair["difference"] if ahead else 0.0 - pair["difference"],
                "interval": interval,
                "p_holm": pair["p_holm"] if pair else None,
                "separable": pair["separable"] if pair else None,
            }
        )
    return rows


def _candidates(
    members: Sequence[Member],
    labels: Sequence[str],
    baseline: int,
    unlike: Mapping[int, Sequence[Unlike]],
    compared: Mapping[str, Any],
    against: Sequence[Mapping[str, Any]],
) -> list[Candidate]:
    found = []
    for row in against:
        place = row["member"]
        subject = members[place].subject
        headline, counts = subject["headline"], subject["counts"]
        found.append(
            Candidate(
                member=place,
                label=labels[place],
                score=headline["value"],
                interval=headline["interval"],
                graded=counts["graded"],
                planned=counts["planned"],
                stopped=subject["stopped"] or "",
                baseline_stopped=members[baseline].subject["stopped"] or "",
                unlike=[(difference.code, f"{labels[place]}: {difference.message}") for difference in unlike[place]],
                difference=row["difference"],
                difference_interval=row["interval"],
                tasks_compared=compared["tasks_compared"],
                tasks_planned=compared["tasks_planned"],
            )
        )
    return found


def _summary(compared: Mapping[str, Any], unlike: Mapping[int, Sequence[Unlike]]) -> str:
    apart = sum(bool(found) for found in unlike.values())
    if not apart:
        return str(compared["summary"])
    if len(compared["members"]) == 1:
        return "None of these results can be compared with the baseline: each was made in another way."
    kept = "1 result was made in another way and stands" if apart == 1 else f"{apart} results were made in another way and stand"
    return f"{compared['summary']} {kept} apart."
