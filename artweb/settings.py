"""Every setting, once, read from the environment. Nonsense is refused at start, in a sentence.

ARTWEB_DATA      where all state lives (default: data/ beside manage.py)
ARTWEB_SECRETS   the 0600 file with generated keys (default: secrets.json in ARTWEB_DATA)
ARTWEB_DEBUG     1 shows tracebacks; only for development on this machine
ARTWEB_HOSTS     names the site answers to, besides localhost
DATABASE_URL     postgres://…; SQLite in ARTWEB_DATA without it
ARTWEB_TOOL_HOSTS  names in this network that tools may call; otherwise only public addresses
ARTWEB_LOCAL_MODELS  who may use model servers on this machine as judges: operator, everyone or nobody
ARTWEB_KEEP_TOKENS, ARTWEB_KEEP_TRANSCRIPTS, ARTWEB_KEEP_LOGS  how long those of old runs are kept, such as
                 "30 days, 20 runs": longer than that and not of the newest so many; everything without them
ARTWEB_MODELS    directories (with colons between) whose models may be used, besides models/ in ARTWEB_DATA
ARTWEB_FRAMES_PER_SECOND  how often at most a live page is sent what is new, while single events come
                 (30); a frame that holds several events puts off the next as many times as long
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


def env_doors(name: str) -> list[str]:
    """Names, each with a port where it is not a usual one: intranet.example, 10.0.0.5:8443."""
    doors = env_list(name)
    for door in doors:
        if not re.fullmatch(r"[a-z0-9.-]+(:[0-9]{1,5})?", door):
            raise ImproperlyConfigured(
                f"{name} holds {door!r}; give names such as tools.example or name:8443."
            )
    return doors


def env_choice(name: str, *known: str) -> str:
    """One of the known values; the first without the variable."""
    value = os.environ.get(name) or known[0]
    if value not in known:
        raise ImproperlyConfigured(f"{name} is {value!r}; use one of {', '.join(known)}.")
    return value


def env_count(name: str, default: int, *, most: int) -> int:
    """A whole number from 0 to `most`."""
    value = os.environ.get(name) or str(default)
    if not (value.isascii() and value.isdigit() and int(value) <= most):
        raise ImproperlyConfigured(f"{name} is {value!r}; use a whole number from 0 to {most}.")
    return int(value)


def env_limit(name: str) -> tuple[int, int]:
    """Days and runs: "30 days", "20 runs" or "30 days, 20 runs"; (0, 0), no limit, where nothing is said."""
    found = {"days": 0, "runs": 0}
    for item in env_list(name):
        number, _, unit = item.partition(" ")
        if unit not in found or not re.fullmatch(r"[1-9][0-9]{0,4}", number):
            raise ImproperlyConfigured(
                f"{name} holds {item!r}; give 30 days, 20 runs, or both with a comma between."
            )
        found[unit] = int(number)
    return found["days"], found["runs"]


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
                # auto_vacuum counts only for a new file, and has to be said before anything is written.
                "init_command": "PRAGMA auto_vacuum=INCREMENTAL;PRAGMA journal_mode=WAL;"
                "PRAGMA synchronous=NORMAL;PRAGMA cache_size=-16000;",
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
CELERY_TASK_ROUTES = {"training.errand": {"queue": "desk"}}

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
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # of forms; uploaded files are not counted
UPLOAD_MAX_SIZE = 50 * 1024 * 1024
FILE_UPLOAD_TEMP_DIR = data_directory(DATA_DIR / "uploads")
FILE_UPLOAD_PERMISSIONS = 0o600

SOCKETS_PER_USER = env_count("ARTWEB_SOCKETS_PER_USER", 20, most=100_000)
FRAMES_PER_SECOND = env_count("ARTWEB_FRAMES_PER_SECOND", 30, most=1000) or 30

# Names of machines in this network that tools may call; all others must have a public address.
TOOL_HOSTS = frozenset(env_doors("ARTWEB_TOOL_HOSTS"))
LOCAL_MODELS = env_choice("ARTWEB_LOCAL_MODELS", "operator", "everyone", "nobody")
MCP_PROGRAMS = DATA_DIR / "mcp-servers.json"
TABLES_DIR = DATA_DIR / "tables"
MODEL_SERVER_SOCKET = RUN_DIR / "model.sock"
MODEL_DIRS = [DATA_DIR / "models", *env_directories("ARTWEB_MODELS")]
# What `retention` lets go of old runs: (days since their end, newest runs that are spared).
RETENTION = {
    "tokens": env_limit("ARTWEB_KEEP_TOKENS"),
    "transcripts": env_limit("ARTWEB_KEEP_TRANSCRIPTS"),
    "log": env_limit("ARTWEB_KEEP_LOGS"),
}
