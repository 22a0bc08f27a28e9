"""What the charges of a month went to. The billing page fetches it as a part."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from billing.months import month_words, this_month
from billing.statements import months_of
from common.web import page, render_page
from runs.charts import days_chart
from runs.spending import Spending, spending_of
from workspaces.actors import actor_of_user
from workspaces.permissions import can_read_billing, require
from workspaces.queries import required_workspace
from workspaces.requests import PersonRequest

SHOWN = 10
"""Rows of a table at once; the rest opens."""

HREFS = {"benchmarks": "/catalog/", "keys": "/settings/api-keys/"}


@require_safe
@page
def spending(request: PersonRequest) -> HttpResponse:
    """The month that is asked for where the ledger has it, else the present one."""
    workspace = required_workspace(request)
    require(can_read_billing(actor_of_user(request.user), workspace))
    months = months_of(workspace)
    wanted = request.GET.get("month", "")
    month = wanted if wanted in months else this_month()
    found = spending_of(workspace, month)
    words = month_words(month)
    days = {day: (charged.usage_microusd, charged.fee_microusd) for day, charged in found.days.items()}
    context = {
        "workspace": workspace,
        "month": month,
        "month_words": words,
        "months": [(each, month_words(each)) for each in months],
        "spending": found,
        "chart": days_chart(days, f"Charged by day in {words}"),
        "tables": _tables(found),
    }
    return render_page(request, "runs/spending.html", context, partial="spending")


def _tables(spending: Spending) -> list[dict[str, object]]:
    heads = (("benchmarks", "By benchmark", "Benchmark"), ("models", "By model", "Model"), ("members", "By member", "Member"))
    found = []
    for name, title, head in (*heads, ("keys", "By API key", "API key")):
        rows = getattr(spending, name)
        found.append({"name": name, "title": title, "head": head, "rows": rows[:SHOWN], "rest": rows[SHOWN:], "href": HREFS.get(name, "")})
    return found
