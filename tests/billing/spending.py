"""Spending from budgets as runs do it, without runs: amounts in micro-USD."""

import itertools
from typing import Any

from django.db import transaction

from billing import budgets
from billing.models import Budget, Wallet, WorkspaceLimit
from workspaces.models import Workspace

_numbers = itertools.count(1)


def open_(workspace: Workspace, **wanted: Any) -> Budget:
    """A budget opened as a start opens it: no cap and no key unless said otherwise, a ceiling of 1,000 and a minimum of 10."""
    with transaction.atomic():
        return budgets.open_budget(
            workspace,
            source=wanted.pop("source", f"work:{next(_numbers)}"),
            cap_microusd=wanted.pop("cap", None),
            ceiling_microusd=wanted.pop("ceiling", 1_000),
            minimum_microusd=wanted.pop("minimum", 10),
            key_lineage=wanted.pop("key", None),
            **wanted,
        )


def batch(budget: Budget, *wants: tuple[int, int], settled: int = 0, returned: int = 0) -> list[int]:
    """One batch of the work: (amount, least) of each reservation that is wanted. Returns what is granted."""
    with transaction.atomic():
        return budgets.settle_and_reserve(
            budgets.lock_budget(budget.source), settled=settled, returned=returned, wants=[budgets.Want(*want) for want in wants]
        )


def spend(budget: Budget, amount: int) -> None:
    """Reserve the amount and settle all of it."""
    assert batch(budget, (amount, amount)) == [amount]
    batch(budget, settled=amount, returned=amount)


def close(budget: Budget, *charges: tuple[int, int]) -> Budget:
    """End the work with (usage, fee) of each subject; one subject of all that is settled where none is given."""
    settled = Budget.objects.get(pk=budget.pk).settled_microusd
    with transaction.atomic():
        return budgets.close_budget(
            budget.source,
            charges=[
                budgets.Charge(key=f"{budget.source}:{index}", note=f"Subject {index}", usage_microusd=usage, fee_microusd=fee)
                for index, (usage, fee) in enumerate(charges or [(settled, 0)])
            ],
        )


def wallet_of(workspace: Workspace) -> Wallet:
    return Wallet.objects.get(workspace=workspace)


def limit_month(workspace: Workspace, amount: int | None) -> None:
    WorkspaceLimit.objects.update_or_create(workspace=workspace, defaults={"monthly_microusd": amount})
