"""The pages of money, one module a page."""

from billing.views.keys import key_ceiling, key_month
from billing.views.ledger import ledger_file
from billing.views.purchases import payment, purchase
from billing.views.top_ups import card_removal, top_up
from billing.views.wallet import monthly, wallet

__all__ = ["card_removal", "key_ceiling", "key_month", "ledger_file", "monthly", "payment", "purchase", "top_up", "wallet"]
