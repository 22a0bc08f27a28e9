"""All settings. Each is read from the environment through `env`, and `.env.example` names every one of them.

The defaults run the whole product on one machine with nothing installed: SQLite, a queue of files, mail to the console.
With `DEBUG=no` (production) a missing secret stops the start; nothing insecure is a default there.
"""

from decimal import Decimal
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from evalrouter_site.env import (
    database_from_url,
    env_bool,
    env_float,
    env_int,
    env_list,
    env_path,
    env_str,
    load_env_file,
    sqlite,
)
from evalrouter_site.secrets import local_secret

BASE_DIR = Path(__file__).resolve().parent.parent
load_env_file(BASE_DIR / ".env")

# ── The place and the mode ──────────────────────────────────────────────────────────────────────────────────────────

DATA_DIR = env_path("DATA_DIR", BASE_DIR / "var")
DATA_DIR.mkdir(parents=True, exist_ok=True)
DEBUG = env_bool("DEBUG", default=False)
PRODUCTION = env_bool("PRODUCTION", default=False)
PORT = env_int("PORT", 8000)
SITE_URL = env_str("SITE_URL", f"http://127.0.0.1:{PORT}").rstrip("/")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS") or (["localhost", "127.0.0.1", "[::1]", ".localhost", "testserver"] if not PRODUCTION else [])
CSRF_TRUSTED_ORIGINS = [SITE_URL] if SITE_URL.startswith("https://") else []

SECRET_KEY = env_str("SECRET_KEY") or ("" if PRODUCTION else local_secret(DATA_DIR / "secret_key"))
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS")
CREDENTIAL_KEYS = env_list("CREDENTIAL_KEYS") or ([] if PRODUCTION else [local_secret(DATA_DIR / "credential_key")])
"""Secrets that connections' keys are encrypted under, newest first; the older ones still decrypt."""
SIGNING_KEYS = env_list("SIGNING_KEYS") or ([] if PRODUCTION else [local_secret(DATA_DIR / "signing_key")])
"""Secrets of the keys that sign bundles, newest first; what the older ones have signed still counts as ours."""

if PRODUCTION:
    needed = {"SECRET_KEY": SECRET_KEY, "CREDENTIAL_KEYS": CREDENTIAL_KEYS, "SIGNING_KEYS": SIGNING_KEYS, "ALLOWED_HOSTS": ALLOWED_HOSTS}
    for name, value in needed.items():
        if not value:
            raise ImproperlyConfigured(f"{name} must be set in production")
    if DEBUG:
        raise ImproperlyConfigured("DEBUG must be off in production")

# ── Applications ────────────────────────────────────────────────────────────────────────────────────────────────────

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.simple_history",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "simple_history",
    "common",
    "workspaces",
    "catalog",
    "billing",
    "gateway",
    "imports",
    "runs",
    "evalrouter_site",
]

MIDDLEWARE = [
    "evalrouter_site.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "evalrouter_site.middleware.AdminContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
    "evalrouter_site.middleware.RefusalMiddleware",
]

ROOT_URLCONF = "evalrouter_site.urls"
WSGI_APPLICATION = "evalrouter_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SILENCED_SYSTEM_CHECKS = ["auth.W004"]  # the e-mail address is unique by a constraint on its lower-case form

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "evalrouter_site.context.site",
            ],
            "builtins": ["evalrouter_site.templatetags.evalrouter"],
        },
    }
]

# ── Storage ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DATABASES = {"default": database_from_url(url) if (url := env_str("DATABASE_URL")) else sqlite(DATA_DIR / "evalrouter.sqlite3")}
REDIS_URL = env_str("REDIS_URL")
CACHES = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "django_cache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
    )
}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": DATA_DIR / "files"}},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if (BASE_DIR / "staticfiles" / "staticfiles.json").exists()
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = not (BASE_DIR / "staticfiles" / "staticfiles.json").exists()

# ── People ──────────────────────────────────────────────────────────────────────────────────────────────────────────

AUTH_USER_MODEL = "workspaces.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/evaluations"
LOGOUT_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "workspaces.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_CONFIRM_EMAIL_ON_GET = False
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_FORMS = {
    "login": "workspaces.forms.LoginForm",
    "signup": "workspaces.forms.SignupForm",
    "reset_password": "workspaces.forms.ResetPasswordForm",
    "reset_password_from_key": "workspaces.forms.ResetPasswordKeyForm",
    "change_password": "workspaces.forms.ChangePasswordForm",
    "reauthenticate": "workspaces.forms.ReauthenticateForm",
    "add_email": "workspaces.forms.AddEmailForm",
}
ALLAUTH_TRUSTED_PROXY_COUNT = env_int("TRUSTED_PROXY_COUNT", 0)

DEFAULT_FROM_EMAIL = env_str("DEFAULT_FROM_EMAIL", "EvalRouter <evalrouter@example.org>")
EMAIL_URL_HOST = env_str("EMAIL_HOST")
MAIL_DIR = DATA_DIR / "mail"
MAILERS = {
    "default": (
        {
            "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "OPTIONS": {
                "host": EMAIL_URL_HOST,
                "port": env_int("EMAIL_PORT", 587),
                "username": env_str("EMAIL_HOST_USER"),
                "password": env_str("EMAIL_HOST_PASSWORD"),
                "use_tls": env_bool("EMAIL_USE_TLS", default=True),
            },
        }
        if EMAIL_URL_HOST
        else {"BACKEND": "common.mail.ConsoleAndFileBackend", "OPTIONS": {"file_path": str(MAIL_DIR)}}
    )
}

# ── Safety ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_form_targets: list[str] = [CSP.SELF]
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": _form_targets,
    "frame-ancestors": [CSP.NONE],
}
ADMIN_CSP = {**SECURE_CSP, "script-src": [CSP.SELF, CSP.UNSAFE_EVAL, CSP.NONCE], "style-src": [CSP.SELF, CSP.UNSAFE_INLINE]}
"""Unfold's script compiles expressions, so the admin alone allows them."""

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "evalrouter_site.problems.csrf_failure"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https://")
if PRODUCTION:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = env_int("SECURE_HSTS_SECONDS", 31_536_000)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

ALLOW_PRIVATE_ENDPOINTS = env_bool("ALLOW_PRIVATE_ENDPOINTS", default=False)
"""Whether connections may name private and loopback addresses: only for one's own machine."""

# ── Money ───────────────────────────────────────────────────────────────────────────────────────────────────────────

WELCOME_CREDIT_MICROUSD = env_int("WELCOME_CREDIT_MICROUSD", 5_000_000)
PLATFORM_FEE_PERCENT = Decimal(env_str("PLATFORM_FEE_PERCENT", "5"))
EMPTY_ANSWERS_UNCHARGED_A_DAY = env_int("EMPTY_ANSWERS_UNCHARGED_A_DAY", 200)

# Buying credit: off without both of Stripe's secrets. Amounts are whole cents at Stripe's door.
STRIPE_SECRET_KEY = env_str("STRIPE_SECRET_KEY")
STRIPE_WEBHOOK_SECRET = env_str("STRIPE_WEBHOOK_SECRET")
STRIPE_API_URL = (env_str("STRIPE_API_URL") or "https://api.stripe.com").rstrip("/")
PURCHASE_FEE_PERCENT = Decimal(env_str("PURCHASE_FEE_PERCENT", "5"))
PURCHASE_LEAST_MICROUSD = env_int("PURCHASE_LEAST_MICROUSD", 5_000_000)
PURCHASE_MOST_MICROUSD = env_int("PURCHASE_MOST_MICROUSD", 2_000_000_000)
if STRIPE_SECRET_KEY:
    # A form leads to Checkout; a stand-in for Stripe has its page at its own address.
    _form_targets.append("https://checkout.stripe.com" if STRIPE_API_URL == "https://api.stripe.com" else STRIPE_API_URL)

# ── Imports ─────────────────────────────────────────────────────────────────────────────────────────────────────────

UPLOAD_MAX_BYTES = env_int("UPLOAD_MAX_BYTES", 256 * 1024 * 1024)
UPLOAD_MAX_FILES = env_int("UPLOAD_MAX_FILES", 8)
UPLOADS_A_DAY = env_int("UPLOADS_A_DAY", 10)
UPLOADS_OPEN = env_int("UPLOADS_OPEN", 2)
UPLOADS_ACTIVE = env_int("UPLOADS_ACTIVE", 1_000)
UPLOAD_LEAST_AVAILABLE_MICROUSD = env_int("UPLOAD_LEAST_AVAILABLE_MICROUSD", 5_000_000)
WORKSPACE_STORAGE_BYTES = env_int("WORKSPACE_STORAGE_BYTES", 5 * 1024**3)
BENCHMARK_MAX_BYTES = env_int("BENCHMARK_MAX_BYTES", 64 * 1024 * 1024)
BENCHMARK_MAX_ROWS = env_int("BENCHMARK_MAX_ROWS", 100_000)
BENCHMARKS_CREATED_A_DAY = env_int("BENCHMARKS_CREATED_A_DAY", 10)
BENCHMARKS_ACTIVE = env_int("BENCHMARKS_ACTIVE", 1_000)
GITHUB_MAX_BYTES = env_int("GITHUB_MAX_BYTES", 16 * 1024 * 1024)

# ── Runs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

QUOTE_LIFETIME_SECONDS = env_int("QUOTE_LIFETIME_SECONDS", 30 * 60)
RUN_DEADLINE_SECONDS = env_int("RUN_DEADLINE_SECONDS", 24 * 3600)
SAMPLES_RETENTION_DAYS = env_int("SAMPLES_RETENTION_DAYS", 365)
ENGINE_SLOTS = env_int("ENGINE_SLOTS", 256)
ENGINE_EXECUTORS = env_int("ENGINE_EXECUTORS", 2)
"""Executor loops at a time in one worker; it has a child more, for everything else."""
ENGINE_LEASE_SECONDS = env_float("ENGINE_LEASE_SECONDS", 15)
ENGINE_RENEW_SECONDS = env_float("ENGINE_RENEW_SECONDS", 5)
ENGINE_SWEEP_SECONDS = env_float("ENGINE_SWEEP_SECONDS", 5)
ENGINE_TURN_SECONDS = env_float("ENGINE_TURN_SECONDS", 30)
PROVIDER_TIMEOUT_SECONDS = env_float("PROVIDER_TIMEOUT_SECONDS", 600)
PROVIDER_UNAVAILABLE_SECONDS = env_float("PROVIDER_UNAVAILABLE_SECONDS", 15 * 60)

# ── Notices ─────────────────────────────────────────────────────────────────────────────────────────────────────────

NOTICE_WAITING_SECONDS = env_float("NOTICE_WAITING_SECONDS", 5 * 60)
"""After which a run that waits for its provider is told of."""
NOTICES_KEPT_DAYS = env_int("NOTICES_KEPT_DAYS", 30)
WEBHOOK_TIMEOUT_SECONDS = env_float("WEBHOOK_TIMEOUT_SECONDS", 10)
WEBHOOK_OFF_AFTER_DAYS = env_int("WEBHOOK_OFF_AFTER_DAYS", 5)
"""An endpoint that accepts nothing for so long, and lets a whole delivery fail, is turned off."""

# ── Hugging Face ────────────────────────────────────────────────────────────────────────────────────────────────────

HUGGINGFACE_IMPORTS = env_bool("HUGGINGFACE_IMPORTS", default=True)
HF_ENDPOINT = (env_str("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
"""The Hub, or a mirror of it. It is told the tokens that people give for an import."""
HF_FILE_HOSTS = env_list("HF_FILE_HOSTS") or ["huggingface.co", "hf.co"]
"""Hosts, with those below them, that the Hub may send a download to: `name` or `name:port`. They are told no token."""
HF_IMPORT_SECONDS = env_float("HF_IMPORT_SECONDS", 75)
"""The longest that one import may take on the network; below the 120 seconds for which an idempotency key is held."""

# ── GitHub ──────────────────────────────────────────────────────────────────────────────────────────────────────────

GITHUB_IMPORTS = env_bool("GITHUB_IMPORTS", default=False)
GITHUB_API_URL = (env_str("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
GITHUB_URL = (env_str("GITHUB_URL") or "https://github.com").rstrip("/")
GITHUB_IMPORT_SECONDS = env_float("GITHUB_IMPORT_SECONDS", 60)
"""The longest that one import may take on the network; below the 120 seconds for which an idempotency key is held."""
GITHUB_APP_ID = env_str("GITHUB_APP_ID")
GITHUB_APP_SLUG = env_str("GITHUB_APP_SLUG")
GITHUB_APP_PRIVATE_KEY = env_str("GITHUB_APP_PRIVATE_KEY")
GITHUB_APP_CLIENT_ID = env_str("GITHUB_APP_CLIENT_ID")
GITHUB_APP_CLIENT_SECRET = env_str("GITHUB_APP_CLIENT_SECRET")
if GITHUB_IMPORTS and GITHUB_APP_ID:
    _form_targets.append(GITHUB_URL)  # a form leads there, to install the App

# ── The queue ───────────────────────────────────────────────────────────────────────────────────────────────────────

CELERY_BROKER_URL = env_str("CELERY_BROKER_URL", "filesystem://localhost")
if CELERY_BROKER_URL.startswith("filesystem"):
    CELERY_BROKER_TRANSPORT = "common.filequeue:Transport"
    _queue_dir, _control_dir = DATA_DIR / "queue", DATA_DIR / "queue-control"
    for _directory in (_queue_dir, _control_dir):
        _directory.mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        "data_folder_in": str(_queue_dir),
        "data_folder_out": str(_queue_dir),
        "control_folder": str(_control_dir),
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600, "unacked_restore_interval": 2, "unacked_restore_throttle": 1}
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {}
CELERY_TASK_DEFAULT_QUEUE = env_str("CELERY_QUEUE", "evalrouter")
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "evalrouter_site.beat:MemoryScheduler"
CELERY_BEAT_SCHEDULE = {
    "runs.sweep": {"task": "runs.sweep", "schedule": ENGINE_SWEEP_SECONDS, "options": {"expires": ENGINE_SWEEP_SECONDS}},
    "runs.sweep_gradings": {"task": "runs.sweep_gradings", "schedule": 60.0, "options": {"expires": 60.0}},
    "runs.expire_content": {"task": "runs.expire_content", "schedule": 24 * 3600.0},
    "imports.compute_health": {"task": "imports.compute_health", "schedule": 300.0, "options": {"expires": 300.0}},
    "imports.expire_uploads": {"task": "imports.expire_uploads", "schedule": 600.0, "options": {"expires": 600.0}},
    "imports.sweep_checks": {"task": "imports.sweep_checks", "schedule": 30.0, "options": {"expires": 30.0}},
    "imports.expire_drafts": {"task": "imports.expire_drafts", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "imports.sweep_files": {"task": "imports.sweep_files", "schedule": 24 * 3600.0},
    "billing.check_books": {
        "task": "billing.check_books",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },  # once a day: billing.bookkeeping
    "billing.watch_spend": {"task": "billing.watch_spend", "schedule": 60.0, "options": {"expires": 60.0}},
    "billing.sweep_payments": {"task": "billing.sweep_payments", "schedule": 60.0, "options": {"expires": 60.0}},
    "runs.sweep_notices": {"task": "runs.sweep_notices", "schedule": 10.0, "options": {"expires": 10.0}},
    "common.forget_answers": {"task": "common.forget_answers", "schedule": 3600.0, "options": {"expires": 3600.0}},
}

# ── The API ─────────────────────────────────────────────────────────────────────────────────────────────────────────

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "evalrouter_site.api.authentication.KeyAuthentication",
        "evalrouter_site.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["evalrouter_site.api.rendering.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["evalrouter_site.api.rendering.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "evalrouter_site.api.rendering.OnlyJSON",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "evalrouter_site.api.schema.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["evalrouter_site.api.throttling.ApiThrottle"],
    "DEFAULT_THROTTLE_RATES": {"api": env_str("API_RATE", "1800/min"), "anonymous": env_str("API_ANONYMOUS_RATE", "300/min")},
    "EXCEPTION_HANDLER": "evalrouter_site.api.errors.exception_handler",
    "NUM_PROXIES": ALLAUTH_TRUSTED_PROXY_COUNT,
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "EvalRouter API",
    "DESCRIPTION": (
        "Model benchmarks as a service: quote, run, watch, read and compare.\n\n"
        "Money is a string of integer micro-USD, times are RFC 3339 in UTC, shares are 0 to 1. Fields without a value are null, never left "
        "out. Unknown fields of a request are refused; new fields of an answer may be added."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": "/"}],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": [],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}

# ── Language, time, logs ────────────────────────────────────────────────────────────────────────────────────────────

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
FORMAT_MODULE_PATH = "evalrouter_site.formats"
USE_TZ = True
APPEND_SLASH = False

LOG_LEVEL = env_str("LOG_LEVEL", "INFO")
LOG_JSON = env_bool("LOG_JSON", default=PRODUCTION)
LOGGING_CONFIG = "evalrouter_site.logging.configure"
LOGGING = {"level": LOG_LEVEL, "json": LOG_JSON}

UNFOLD = {
    "SITE_TITLE": "EvalRouter",
    "SITE_HEADER": "EvalRouter",
    "SITE_SUBHEADER": "Staff",
    "SITE_URL": "/",
    "SITE_ICON": lambda _request: f"{STATIC_URL}img/favicon.svg",
    "SHOW_HISTORY": True,
    "DASHBOARD_CALLBACK": "evalrouter_site.staff.dashboard.dashboard",
    "SIDEBAR": {"show_search": True, "navigation": "evalrouter_site.staff.navigation.sidebar"},
    "STYLES": [lambda _request: f"{STATIC_URL}staff/dashboard.css"],
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "base": {
            "50": "oklch(98.3% 0.004 85)",
            "100": "oklch(96.1% 0.006 85)",
            "200": "oklch(90.6% 0.007 85)",
            "300": "oklch(84.5% 0.008 85)",
            "400": "oklch(72% 0.012 268)",
            "500": "oklch(51.5% 0.015 268)",
            "600": "oklch(44.5% 0.018 268)",
            "700": "oklch(36% 0.016 268)",
            "800": "oklch(28.6% 0.014 268)",
            "900": "oklch(19.8% 0.012 268)",
            "950": "oklch(16.5% 0.011 268)",
        },
        "primary": {
            "50": "oklch(97.5% 0.012 268)",
            "100": "oklch(95.4% 0.02 268)",
            "200": "oklch(89% 0.05 268)",
            "300": "oklch(83% 0.085 268)",
            "400": "oklch(78% 0.108 268)",
            "500": "oklch(68% 0.155 268)",
            "600": "oklch(43.5% 0.21 265)",
            "700": "oklch(37% 0.19 265)",
            "800": "oklch(32% 0.15 265)",
            "900": "oklch(27.5% 0.06 268)",
            "950": "oklch(22% 0.05 268)",
        },
    },
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _request: f"{STATIC_URL}img/favicon.svg"}],
}
