"""The wallet's page, and what keys may spend."""

from django.urls import path

from billing import views

app_name = "billing"
urlpatterns = [
    path("settings/billing", views.wallet, name="wallet"),
    path("settings/billing/monthly-limit", views.monthly, name="monthly_limit"),
    path("settings/api-keys/<uuid:key_id>/ceiling", views.key_ceiling, name="key_ceiling"),
]
