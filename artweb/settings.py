"""Every setting, once, read from the environment. Nonsense is refused at start, in a sentence.

ARTWEB_DATA      where all state lives (default: data/ beside manage.py)
ARTWEB_SECRETS   the 0600 file with generated keys (default: secrets.json in ARTWEB_DATA)
ARTWEB_DEBUG     1 shows tracebacks; only for development on this machine
ARTWEB_HOSTS     names the site answers to, besides localhost
DATABASE_URL     postgres://…; SQLite in ARTWEB_DATA without it
ARTWEB_MODELS    directories (with colons between) whose models may be used, besides models/ in ARTWEB_DATA
REDIS_URL        redis://… or unix://…; `up` brings its own without it
"""

import hashlib
import os
import re
import tempfile
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from artweb.secrets import load_secrets

BASE_DIR = Path(__file__).resolve().parent.parent


def env_flag(name: str) -> bool:
    value = os.environ.get(name, "0")
    if value not in ("0", "1", ""):
        raise ImproperlyConfigured(f"{name} is {value!r}; use 1 for on or 0 for off.")
    return value == "1"


def env_list(name: str) -> list[str]:
    return [item.strip() for item in os.environ.get(name, "").split(",") if item.strip()]


def env_hosts(name: str) -> list[str]:
    """Names without scheme, port or wildcard: what a browser may call this site must be said exactly."""
    hosts = env_list(name)
    for host in hosts:
        if not re.fullmatch(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]", host):
            raise ImproperlyConfigured(
                f"{name} holds {host!r}; give names or addresses alone, such as artweb.example."
            )
    return hosts


def env_directories(name: str) -> list[Path]:
    found = [Path(item).expanduser().resolve() for item in os.environ.get(name, "").split(os.pathsep) if item]
    for directory in found:
        if not directory.is_dir():
            raise ImproperlyConfigured(f"{name} names {directory}, and there is no such directory.")
    return found


def database(url: str) -> dict[str, object]:
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "artweb.sqlite3",
            # Tests use a file too: threads and processes then lock each other as they do in life.
            "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
            },
        }
    parts, port = _parts("DATABASE_URL", url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(
            f"DATABASE_URL starts with {parts.scheme}://; use postgres://user:pw@host/name."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(port or ""),
    }


def redis(url: str) -> str:
    parts, _port = _parts("REDIS_URL", url)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ImproperlyConfigured(f"REDIS_URL starts with {parts.scheme}://; use redis://host:6379/0.")
    return url


def _parts(name: str, url: str) -> tuple[SplitResult, int | None]:
    """A URL's parts and port. What it holds is not repeated: there may be a password in it."""
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is not an address. In a password, write / as %2F, @ as %40 and : as %3A."
        ) from None


def data_directory(path: Path) -> Path:
    """`path`, made if need be; its owner alone may enter a new one."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data directory {path} cannot be made: {error.strerror}. Set ARTWEB_DATA to one you own."
        ) from error
    return path


def socket_directory(data: Path) -> Path:
    """`run` in the data directory, or a short stand-in: a socket's path may not exceed about 104 bytes."""
    inside = data / "run"
    if len(os.fsencode(inside)) <= 80:
        return inside
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"artweb-{os.getuid()}-{name}"


DATA_DIR = data_directory(Path(os.environ.get("ARTWEB_DATA") or BASE_DIR / "data").resolve())
RUNS_DIR = DATA_DIR / "runs"
RUN_DIR = socket_directory(DATA_DIR)  # sockets and pid files, only for their owner
SECRETS = load_secrets(Path(os.environ.get("ARTWEB_SECRETS") or DATA_DIR / "secrets.json"))

SECRET_KEY = SECRETS["django"]
DEBUG = env_flag("ARTWEB_DEBUG")
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *env_hosts("ARTWEB_HOSTS")]

INSTALLED_APPS = [
    "daphne",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "artweb",
    "training",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "artweb.middleware.headers_of_every_answer",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "artweb.middleware.no_wishes_from_other_sites",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "artweb.urls"
ASGI_APPLICATION = "artweb.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
            ]
        },
    }
]

DATABASES = {"default": database(os.environ.get("DATABASE_URL", ""))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = redis(os.environ.get("REDIS_URL") or f"unix://{RUN_DIR / 'redis.sock'}")
# redis-py 8 would close idle sockets after 5 s and refuse the 100th: both are set by hand.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None, "max_connections": 10000}]},
    }
}
# A message is a hint that carries a run id; the row's lease is the truth. So nothing is acknowledged late.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://")
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 43200,
    "socket_connect_timeout": 2,
    "max_retries": 1,  # a request does not wait for Redis: the reconciler sends again
    "interval_start": 0,
    "interval_max": 0.1,
}
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # Redis may be away for as long as it likes
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 600_000  # KiB: after a large run the next one gets a fresh process
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 120  # a child imports torch before it reports in
CELERY_TASK_DEFAULT_QUEUE = "gpu"

# Django's own configuration shows errors only in debug mode.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{levelname} {name} {message}", "style": "{"}},
    "filters": {"secrets": {"()": "artweb.redaction.WithoutSecrets"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["secrets"]},
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "artweb" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LOGIN_URL = "/sign-in/"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_USE_SESSIONS = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

MODEL_SERVER_SOCKET = RUN_DIR / "model.sock"
MODEL_DIRS = [DATA_DIR / "models", *env_directories("ARTWEB_MODELS")]
