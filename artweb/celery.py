"""The queue. `celery -A artweb worker -Q gpu` is a GPU worker."""

import os
import warnings

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")

# In a container everything is root; Celery says ten lines about it.
warnings.filterwarnings("ignore", message=".*running the worker with superuser privileges")

app = Celery("artweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["training.runs"])
