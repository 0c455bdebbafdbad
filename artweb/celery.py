"""The queue. `celery -A artweb worker -Q gpu` is a GPU worker."""

import os
import warnings

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")

# Ten lines each, about what is so on purpose: in a container everything is root, and nothing is cancelled
# when Redis goes away.
warnings.filterwarnings("ignore", message=".*running the worker with superuser privileges")
warnings.filterwarnings("ignore", message=r"\s*In Celery 5.1 we introduced an optional breaking change")

app = Celery("artweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["training.runs", "training.authoring.office", "training.review.feed"])
