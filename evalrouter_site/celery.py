"""The Celery application. Tasks are named `<app>.<what>` and found in each app's `tasks` module."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalrouter_site.settings")

app = Celery("evalrouter")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
