"""The pages of money: wallet and ledger, purchases, and what keys may spend."""

from django.urls import path

from billing import views

app_name = "billing"
urlpatterns = [
    path("settings/billing", views.wallet, name="wallet"),
    path("settings/billing/ledger.csv", views.ledger_file, name="ledger_file"),
    path("settings/billing/monthly-limit", views.monthly, name="monthly_limit"),
    path("settings/billing/purchase", views.purchase, name="purchase"),
    path("settings/billing/payments/<uuid:payment_id>", views.payment, name="payment"),
    path("settings/billing/top-up", views.top_up, name="top_up"),
    path("settings/billing/top-up/card-removal", views.card_removal, name="card_removal"),
    path("settings/api-keys/<uuid:key_id>/ceiling", views.key_ceiling, name="key_ceiling"),
    path("settings/api-keys/<uuid:key_id>/month", views.key_month, name="key_month"),
]
