"""The product's settings with what tests need: cheap passwords, a cache of one process, all state in a temporary folder.

`DATABASE_URL` and `CELERY_BROKER_URL` choose PostgreSQL and Redis; without them tests run on SQLite in memory and send their
messages nowhere. Nothing is eager: a test that needs work done calls the action itself or starts real workers (`tests.services`).
"""

import os
import tempfile

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="evalrouter-tests-")
os.environ["SITE_URL"] = "http://testserver"
os.environ["LOG_LEVEL"] = "ERROR"
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"  # nothing is there: a test of the Hub has a stand-in
os.environ["STRIPE_API_URL"] = "http://127.0.0.1:9"
os.environ.setdefault("CELERY_BROKER_URL", "memory://")
for _name in ("PRODUCTION", "DEBUG", "EMAIL_HOST", "REDIS_URL", "SECRET_KEY", "CREDENTIAL_KEYS", "ALLOWED_HOSTS", "STRIPE_SECRET_KEY"):
    os.environ[_name] = ""  # neither the caller's environment nor a `.env` file decides what a test sees

from evalrouter_site.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES = {
    **STORAGES,  # noqa: F405
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
CELERY_TASK_DEFAULT_QUEUE = f"evalrouter-tests-{os.getpid()}"
