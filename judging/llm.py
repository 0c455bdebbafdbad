"""Language models, reached by their litellm name. The only file that names litellm.

Answers are plain text here; what a judge's answer means is left to answers.py. litellm takes two seconds
to import and a run with verifiable rewards never needs it, so it is loaded beside everything else: when
a model is told to `get_ready`, or when the first question is asked.
"""

import asyncio
import contextlib
import functools
import importlib
import os
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from gpu_worker.types import Message
from judging import offline

PROVIDER = offline.MODEL.split("/")[0]
FORMATS = ("json_schema", "json_object", "none")
"""Ways of asking for JSON, strictest first; a provider that refuses one is asked in the next."""
FINAL = {
    401: "does not accept the key",
    402: "asks to be paid",
    403: "does not let us in",
    404: "was not found",
}
"""Statuses that every further question would meet as well."""
LONGEST_WAIT = 60.0
"""Seconds a provider may tell us to wait."""


class NoAnswer(Exception):
    """The model did not answer this question; another question may fare better."""


class Refused(Exception):
    """The model will answer no question at all: a wrong key, name or address. The sentence says which."""


@dataclass(frozen=True)
class _Library:
    """What is used of litellm. `errors` is the base class of everything it raises."""

    complete: Callable[..., Awaitable[Any]]
    errors: type[Exception]


class Model:
    """A language model. `at_once` questions are out at a time; the others wait here."""

    def __init__(
        self,
        name: str,
        *,
        api_base: str = "",
        api_key: str = "",
        timeout: float = 90.0,
        attempts: int = 5,
        back_off: float = 1.0,
        at_once: int = 16,
    ) -> None:
        self.name = name
        self._access = {k: v for k, v in (("api_base", api_base), ("api_key", api_key)) if v}
        self._timeout = timeout
        self._attempts = attempts
        self._back_off = back_off
        self._seats = asyncio.Semaphore(at_once)
        self._format = 0
        self._library: _Library | None = None

    async def ask(self, messages: Sequence[Message], schema: dict[str, Any]) -> str:
        """The model's answer as text, asked for as JSON by `schema`. Raises NoAnswer or Refused.

        Busy, broken and silent providers are asked again after a growing pause, or the one they ask for.
        """
        async with self._seats:
            library = await self._loaded()
            for attempt in range(1, self._attempts + 1):
                try:
                    return await self._ask_in_some_format(library, messages, schema)
                except library.errors as error:
                    if attempt == self._attempts or not _may_pass(error):
                        raise NoAnswer(f"{self.name} did not answer: {_sentence(error)}") from error
                    await asyncio.sleep(_pause(error, attempt, self._back_off))
        raise NoAnswer(f"{self.name} was not asked.")

    async def _loaded(self) -> _Library:
        if self._library is None:
            self._library = await asyncio.to_thread(_load_library)
        return self._library

    def get_ready(self) -> None:
        """Load the library in a thread of its own, while whoever will be judged is still at work."""
        threading.Thread(target=_load_library, name="litellm", daemon=True).start()

    async def _ask_in_some_format(
        self, library: _Library, messages: Sequence[Message], schema: dict[str, Any]
    ) -> str:
        """Ask in the strictest format the provider takes; the one that worked is kept for later questions."""
        refusal: Exception | None = None
        for asked in range(self._format, len(FORMATS)):
            try:
                text = await self._ask_once(library, messages, _response_format(FORMATS[asked], schema))
            except library.errors as error:
                status = _status(error)
                if status in FINAL:
                    raise Refused(f"{self.name} {FINAL[status]}: {_sentence(error)}") from error
                if status not in (400, 422):
                    raise
                refusal = error
            else:
                self._format = asked
                return text
        raise NoAnswer(f"{self.name} refused the question: {_sentence(refusal)}") from refusal

    async def _ask_once(self, library: _Library, messages: Sequence[Message], asking: dict[str, Any]) -> str:
        response = await library.complete(
            model=self.name,
            messages=list(messages),
            timeout=self._timeout,
            temperature=0.0,
            max_retries=0,
            drop_params=True,
            **asking,
            **self._access,
        )
        content = response.choices[0].message.content if response.choices else None
        return (content or "").encode("utf-8", "replace").decode()


@functools.cache
def _load_library() -> _Library:
    """litellm, quiet, without its look at the network, and with the offline judge known to it."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    handler = type("OfflineJudge", (litellm.CustomLLM,), {"acompletion": _answer_offline})()
    litellm.custom_provider_map = [{"provider": PROVIDER, "custom_handler": handler}]
    return _Library(litellm.acompletion, importlib.import_module("openai").OpenAIError)


async def _answer_offline(
    _handler: object, *, messages: list[Message], model_response: Any, **_: object
) -> Any:
    model_response.choices[0].message.content = offline.answer(messages)
    return model_response


def _response_format(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    if kind == "none":
        return {}
    if kind == "json_object":
        return {"response_format": {"type": "json_object"}}
    named = {"name": "scores", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _status(error: Exception) -> int | None:
    """What the provider really said: litellm sometimes goes by the words in the body instead."""
    said = getattr(getattr(error, "response", None), "status_code", None)
    return said or getattr(error, "status_code", None)


def _may_pass(error: Exception) -> bool:
    status = _status(error)
    return status is None or status >= 500 or status in (408, 409, 425, 429)


def _pause(error: Exception, attempt: int, back_off: float) -> float:
    """Seconds to wait: what the provider asked for, else doubling, with jitter."""
    asked = _retry_after(error)
    if asked is not None:
        return min(asked, LONGEST_WAIT)
    return min(back_off * 2 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.75, 1.25)


def _retry_after(error: Exception) -> float | None:
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or getattr(
        response, "headers", {}
    )
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):  # not seconds; it may be a date
        return max(0.0, float(value))
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _sentence(error: Exception | None) -> str:
    """The first line of what litellm says, without its class names in front."""
    text = str(getattr(error, "message", error)).strip().partition("\n")[0]
    for name in ("litellm.", type(error).__name__ + ": "):
        text = text.removeprefix(name)
    return text[:300]
