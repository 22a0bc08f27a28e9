"""The wallet, its ledger, and the API keys that spend from it, over HTTP."""

from typing import Any
from uuid import UUID

from rest_framework.response import Response

from billing.months import this_month
from billing.queries import allowance_of_key, allowances_of_keys, wallet_figures
from billing.serializers import (
    ApiKeyChangeBody,
    ApiKeyCreateBody,
    ApiKeyShape,
    EntriesQuery,
    EntryShape,
    NewApiKeyShape,
    PaymentShape,
    SpendAlertShape,
    SpendingLimitsShape,
    WalletShape,
    alert_document,
    api_key_document,
    entry_document,
    limits_document,
    payment_document,
    wallet_document,
)
from billing.statements import alerts_for, entries_matching, limits_of_keys, payments_for, workspace_month
from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from workspaces.actions import change_api_key, create_api_key, revoke_api_key, roll_api_key
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_manage_keys, can_read_billing
from workspaces.queries import api_keys_for, get_api_key


class WalletView(ApiView):
    tag = "billing"

    @operation("get_wallet", "The workspace's credit", needs=can_read_billing, answers={200: WalletShape})
    def get(self) -> dict[str, Any]:
        return wallet_document(wallet_figures(self.workspace))


class EntryList(ApiView):
    tag = "billing"

    @operation(
        "list_entries", "The ledger, newest first", needs=can_read_billing, query=EntriesQuery, answers={200: page_of_shape(EntryShape)}
    )
    def get(self) -> dict[str, Any]:
        cursor, limit = self.query.pop("cursor", None), self.query.pop("limit")
        return page_document(page_of(entries_matching(self.workspace, **self.query), cursor=cursor, limit=limit), entry_document)


class PaymentList(ApiView):
    tag = "billing"

    @operation(
        "list_payments",
        "Purchases of credit, newest first",
        needs=can_read_billing,
        query=ListQuery,
        answers={200: page_of_shape(PaymentShape)},
    )
    def get(self) -> dict[str, Any]:
        page = page_of(payments_for(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, payment_document)


class LimitsView(ApiView):
    tag = "billing"

    @operation("get_limits", "What may be spent, and how much of it is used", needs=can_read_billing, answers={200: SpendingLimitsShape})
    def get(self) -> dict[str, Any]:
        month = this_month()
        return limits_document(month, workspace_month(self.workspace, month), limits_of_keys(self.workspace, month))


class AlertList(ApiView):
    tag = "billing"

    @operation(
        "list_alerts",
        "Shares of the monthly limit that were reached, newest first",
        needs=can_read_billing,
        query=ListQuery,
        answers={200: page_of_shape(SpendAlertShape)},
    )
    def get(self) -> dict[str, Any]:
        page = page_of(alerts_for(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, alert_document)


class ApiKeyList(ApiView):
    tag = "api-keys"

    @operation(
        "list_api_keys",
        "Keys of the workspace, newest first",
        needs=can_manage_keys,
        query=ListQuery,
        answers={200: page_of_shape(ApiKeyShape)},
    )
    def get(self) -> dict[str, Any]:
        page = page_of(api_keys_for(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        allowances = allowances_of_keys(self.workspace)
        return page_document(page, lambda key: api_key_document(key, allowances.get(str(key.lineage))))

    @operation(
        "create_api_key",
        "Make a key; its secret is shown once",
        needs=can_manage_keys,
        body=ApiKeyCreateBody,
        answers={201: NewApiKeyShape},
        bears_secret=True,
    )
    def post(self) -> dict[str, Any]:
        key, secret = create_api_key(self.workspace, actor=self.actor, **self.body)
        return {**api_key_document(key, allowance_of_key(key)), "secret": secret}


class ApiKeyDetail(ApiView):
    tag = "api-keys"

    @operation("get_api_key", "One key", needs=can_manage_keys, answers={200: ApiKeyShape})
    def get(self, key_id: UUID) -> dict[str, Any]:
        key = get_api_key(self.workspace, key_id)
        return api_key_document(key, allowance_of_key(key))

    @operation("change_api_key", "Change what is given", needs=can_manage_keys, body=ApiKeyChangeBody, answers={200: ApiKeyShape})
    def patch(self, key_id: UUID) -> dict[str, Any]:
        key = change_api_key(get_api_key(self.workspace, key_id), actor=self.actor, **self.body)
        return api_key_document(key, allowance_of_key(key))

    @operation("delete_api_key", "Revoke a key at once", needs=can_manage_keys, answers={204: None})
    def delete(self, key_id: UUID) -> Response:
        revoke_api_key(get_api_key(self.workspace, key_id), actor=self.actor)
        return Response(status=204)


class ApiKeyRoll(ApiView):
    tag = "api-keys"

    @operation(
        "roll_api_key",
        "Replace a key; the old one works on for seven days",
        needs=can_manage_keys,
        answers={201: NewApiKeyShape},
        bears_secret=True,
    )
    def post(self, key_id: UUID) -> dict[str, Any]:
        """The new key has the same permissions, and shares the ceiling and what is spent of it."""
        key, secret = roll_api_key(get_api_key(self.workspace, key_id), actor=self.actor)
        return {**api_key_document(key, allowance_of_key(key)), "secret": secret}
