"""What the charges of a month went to, over HTTP."""

from typing import Any

from billing.months import this_month
from runs.serializers.spending import SpendingShape, UsageQuery, usage_document
from runs.spending import spending_of
from workspaces.api_base import ApiView, operation
from workspaces.permissions import can_read_billing


class UsageView(ApiView):
    tag = "billing"

    @operation(
        "get_usage",
        "The charges of a month by day, benchmark, model, member and API key",
        needs=can_read_billing,
        query=UsageQuery,
        answers={200: SpendingShape},
    )
    def get(self) -> dict[str, Any]:
        """A month is that of the ledger's entries (UTC), which are written when a run ends."""
        return usage_document(spending_of(self.workspace, self.query.get("month", this_month())))
