"""Who may come in and what answers: sign-in links, API keys, deployments."""

from django.conf import settings
from django.db import models

from training.models.runs import Checkpoint


class SignInLink(models.Model):
    """A one-time link printed by `up`; only its hash is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    sha256 = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class ApiKey(models.Model):
    """A key for /v1. It is shown once; the prefix finds the row, the hash proves the rest."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16, unique=True)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class Deployment(models.Model):
    """A name that /v1 answers to, pointing at a checkpoint."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deployments")
    alias = models.CharField(max_length=80)
    checkpoint = models.ForeignKey(Checkpoint, on_delete=models.CASCADE, related_name="deployments")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "alias"], name="alias_per_owner")]
