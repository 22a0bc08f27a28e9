"""Eight processes that start and settle budgets on one wallet of PostgreSQL, beside a bare UPDATE of the same row.

    python -m tests.bench.wallets --seconds 5

Each turn opens a budget with a cap, reserves, settles and closes it with its entries: four transactions, two of which lock the wallet.
Afterwards the books must add up. The control does the same without row locks, and either turns fail or the books do not add up.
"""

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from tests.bench.installation import POSTGRES, PYTHON

PROCESSES = 8
CAP, SPENT = 100, 7
GRANTED = 10**9


_barrier: Any = None


def set_up(url: str, data: str, barrier: Any = None) -> None:
    """Django in this process, on the database."""
    global _barrier
    _barrier = barrier
    os.environ |= {"DATABASE_URL": url, "DATA_DIR": data, "DJANGO_SETTINGS_MODULE": "evalrouter_site.settings", "LOG_LEVEL": "ERROR"}
    import django

    django.setup()


def turns(number: int, seconds: float, kind: str) -> Counter[str]:
    """What came of the turns of one process, which begins when all are there."""
    from django.db import Error, connection
    from django.db.models import QuerySet

    from billing.models import Wallet
    from common.errors import PaymentRequired
    from tests.billing.spending import close, open_, spend
    from workspaces.models import Workspace

    workspace, wallet = Workspace.objects.get(), Wallet.objects.get()
    if kind == "control":
        QuerySet.select_for_update = lambda self, *_, **__: self  # type: ignore[assignment,misc]
    found: Counter[str] = Counter()
    _barrier.wait(120)
    until = time.time() + seconds
    while time.time() < until:
        try:
            if kind == "bare":
                with connection.cursor() as cursor:
                    cursor.execute("UPDATE billing_wallet SET balance_microusd = balance_microusd + 0 WHERE id = %s", [wallet.pk])
            else:
                budget = open_(workspace, source=f"{kind}:{number}:{found.total()}", cap=CAP)
                spend(budget, SPENT)
                close(budget)
            found["done"] += 1
        except PaymentRequired:
            found["refused"] += 1
        except (Error, ValueError, AssertionError) as error:
            found[type(error.__cause__ or error).__name__] += 1
    connection.close()
    return found


def measure(pool: ProcessPoolExecutor, kind: str, seconds: float) -> Counter[str]:
    return sum(pool.map(turns, range(PROCESSES), [seconds] * PROCESSES, [kind] * PROCESSES), Counter())


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    name = f"evalrouter_wallets_{os.getpid()}_{secrets.token_hex(3)}"
    url = f"{POSTGRES.rpartition('/')[0]}/{name}"
    admin = "import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])"
    subprocess.run([PYTHON, "-c", admin, POSTGRES, f'CREATE DATABASE "{name}"'], check=True)
    try:
        with tempfile.TemporaryDirectory(prefix="evalrouter-wallets-") as data:
            return compare(url, data, options.seconds)
    finally:
        subprocess.run([PYTHON, "-c", admin, POSTGRES, f'DROP DATABASE "{name}" WITH (FORCE)'], check=True)


def compare(url: str, data: str, seconds: float) -> int:
    set_up(url, data)
    from django.core.management import call_command
    from django.db import connection

    from billing.checking import ledger_differences
    from billing.models import Wallet
    from tests.factories import make_workspace

    call_command("migrate", verbosity=0)
    make_workspace("Bench", credit=GRANTED)
    connection.close()
    context = get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=set_up, initargs=(url, data, context.Barrier(PROCESSES))) as pool:
        bare, locked = measure(pool, "bare", seconds), measure(pool, "locked", seconds)
        lost, differences = locked.total() - locked["done"] - locked["refused"], ledger_differences()
        kept = not lost and not differences and Wallet.objects.get().balance_microusd == GRANTED - SPENT * locked["done"]
        connection.close()
        control = measure(pool, "control", seconds)
    control_differences = ledger_differences()
    print(f"eight processes on one wallet of PostgreSQL, {seconds:g} seconds each")
    ratio = bare["done"] / max(1, locked["done"])
    print(f"  a bare UPDATE of its row                 {bare['done'] / seconds:9,.1f} a second")
    print(f"  a budget opened, spent from and closed   {locked['done'] / seconds:9,.1f} a second, 1/{ratio:.0f} of that")
    print(f"    {dict(locked)}, {len(differences)} differences in the books")
    print(f"  the same without locks: {dict(control)}, {len(control_differences)} differences in the books")
    shown = len(control_differences) > 0 or control.total() > control["done"] + control["refused"]
    print("  nothing over-spent, no deadlock:", "yes" if kept else "NO", "" if shown else "(the control shows nothing)")
    return 0 if kept and shown else 1


if __name__ == "__main__":
    sys.exit(main())
