"""The wallet's page."""

from django.urls import path

from billing import views

app_name = "billing"
urlpatterns = [
    path("settings/billing", views.wallet, name="wallet"),
]
