"""What /v1 and its pages read: which key this is, what a model name stands for, what may be asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from gpu_worker.environments import ENVIRONMENTS
from training.models import ApiKey, Checkpoint, Deployment, Group, Run
from training.serving.chat_request import ChatRequest
from training.serving.errors import unknown_model, wrong_key
from training.serving.keys import key_in, matches, prefix_of

RUN_AT_STEP = re.compile(r"(?P<run>.+)@(?P<step>\d{1,9})\Z", re.DOTALL)
USE_IS_NOTED_EVERY = timedelta(seconds=60)


@dataclass(frozen=True)
class Target:
    """What a model name stands for, as the model server and the answer need it."""

    key_id: int
    model: str
    base_model: str
    adapter: str
    sha256: str
    system_prompt: str
    tools: tuple[dict[str, Any], ...]

    def payload(self, asked: ChatRequest) -> dict[str, Any]:
        """The request as the model server wants it: the agent's prompt and tools fill what was left open."""
        messages = list(asked.messages)
        if self.system_prompt and not any(message["role"] == "system" for message in messages):
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        tools = asked.tools if asked.tools is not None else self.tools
        return {
            "base_model": self.base_model,
            "adapter": self.adapter,
            "adapter_sha256": self.sha256,
            "messages": messages,
            "tools": list(tools) if asked.tools_allowed else [],
            "sampling": {
                "temperature": asked.temperature,
                "top_p": asked.top_p,
                "max_tokens": asked.max_tokens,
                "seed": asked.seed,
                "stop": list(asked.stop),
            },
            "n": asked.n,
            "logprobs": asked.logprobs,
        }


@dataclass(frozen=True)
class ModelName:
    """One line of GET /v1/models."""

    id: str
    created: int


def target_of(authorization: str, model: str) -> Target:
    """The model a request may use. Raises ApiError: 401 for the key, 404 for the name.

    Key, owner and model are joined in one query, so that no path leads to somebody else's model.
    """
    key = _key_with_checkpoint(authorization, model)
    checkpoint_id: int | None = key.checkpoint_id
    if checkpoint_id is None:
        raise unknown_model(model)
    tools = Group.objects.filter(run=OuterRef("run")).values("tools")[:1]
    checkpoint = (
        Checkpoint.objects.select_related("run__agent").annotate(tools=Subquery(tools)).get(pk=checkpoint_id)
    )
    run = checkpoint.run
    return Target(
        key_id=key.pk,
        model=model,
        base_model=run.config.get("base_model") or run.agent.base_model,
        adapter=checkpoint.directory,
        sha256=checkpoint.sha256,
        system_prompt=_system_prompt(run),
        tools=tuple(checkpoint.tools or ()),
    )


def _system_prompt(run: Run) -> str:
    """What the agent was told in training: its own prompt, else its environment's."""
    own: str = run.config.get("system_prompt", run.agent.system_prompt)
    world = ENVIRONMENTS.get(run.agent.environment)
    return own or (world.system_prompt if world else "")


def check_key(authorization: str) -> None:
    """Raises ApiError (401) unless the header holds a key that still works."""
    _checked(authorization, _keys(authorization))


def models_of(authorization: str) -> list[ModelName]:
    """Every name this key's owner may ask for: deployments, then each kept step of each run."""
    key = _checked(authorization, _keys(authorization))
    deployments = Deployment.objects.filter(owner=key.owner_id, checkpoint__kept=True).order_by("alias")
    checkpoints = Checkpoint.objects.filter(run__owner=key.owner_id, kept=True).select_related("run")
    names = [ModelName(item.alias, int(item.created_at.timestamp())) for item in deployments]
    for item in checkpoints.order_by("-run_id", "-step"):
        names.append(ModelName(f"{item.run.name}@{item.step}", int(item.created_at.timestamp())))
    return names


def _keys(authorization: str) -> QuerySet[ApiKey]:
    key = key_in(authorization)
    if key is None:
        raise wrong_key()
    return ApiKey.objects.filter(prefix=prefix_of(key), revoked_at=None, owner__is_active=True)


def _checked(authorization: str, keys: QuerySet[ApiKey]) -> ApiKey:
    """The one row of `keys`, proven by its hash; notes that it was used."""
    row = keys.first()
    if row is None or not matches(key_in(authorization) or "", row.sha256):
        raise wrong_key()
    now = timezone.now()
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_IS_NOTED_EVERY)
    if row.last_used_at is None or row.last_used_at < now - USE_IS_NOTED_EVERY:
        ApiKey.objects.filter(stale, pk=row.pk).update(last_used_at=now)
    return row


def _key_with_checkpoint(authorization: str, model: str) -> ApiKey:
    """The key, annotated with the id of the checkpoint its owner calls `model` (None where there is none)."""
    own = Checkpoint.objects.filter(run__owner=OuterRef("owner"), kept=True)
    named = RUN_AT_STEP.match(model)
    if named:
        own = own.filter(run__name=named["run"], step=int(named["step"]))
    else:
        own = own.filter(deployments__alias=model, deployments__owner=OuterRef("owner"))
    keys = _keys(authorization).annotate(checkpoint_id=Subquery(own.values("pk")[:1]))
    return _checked(authorization, keys)
