"""Getting started."""

from django.urls import path

from evalrouter_site.onboarding import views

urlpatterns = [
    path("onboarding", views.onboarding, name="onboarding"),
    path("onboarding/closure", views.closure, name="onboarding_closure"),
    path("onboarding/comparison", views.comparison, name="onboarding_comparison"),
    path("onboarding/comparison/tasks/<int:number>", views.task, name="onboarding_task"),
]
