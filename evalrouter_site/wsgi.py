"""The WSGI application that granian serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalrouter_site.settings")

application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018 - views are imported here, and not while the first request waits
gc.collect()
gc.freeze()
"""What was loaded until now stays for good. Left among what is collected, each full collection walks all of it, for a third of a second
in the midst of some request.
"""
