"""What a provider's refusal means: whether asking again may help, when, and how to say it to people.

Goes by what the exception carries, so that no library has to be loaded for it.
"""

import contextlib
import random
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Literal

from judging.access import Access

Kind = Literal[
    "keyless",
    "key",
    "money",
    "forbidden",
    "model",
    "provider",
    "address",
    "silent",
    "busy",
    "broken",
    "question",
]
"""What is wrong. `question` is refused for itself: another one may fare better at once."""
FINAL: tuple[Kind, ...] = ("keyless", "key", "money", "forbidden", "model", "provider")
"""What every further question would meet as well."""
FORMAT = (400, 422)
"""Statuses with which providers refuse a response format they do not know."""
LONGEST_WAIT = 120.0
"""Seconds we wait because a provider tells us to; told to wait longer, the question is given up."""

_KINDS: dict[int, Kind] = {
    401: "key",
    402: "money",
    403: "forbidden",
    404: "model",
    408: "silent",
    429: "busy",
    503: "busy",
    529: "busy",
}
_NO_MONEY = ("insufficient_quota", "exceeded your current quota", "credit balance is too low", "billing")
_NO_MODEL = ("model_not_found", "model does not exist", "no such model", "model not found")
_WRONG_KEY = ("incorrect api key", "invalid api key")
_NO_KEY = re.compile(r"missing (credentials|[\w ]*api[ _]key)|api_key client option must be set")
_CLASSES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?:: | - ))+")
_SENTENCES: dict[Kind, str] = {
    "keyless": "{name} needs a key, and none is given. Add its provider, with the key, on the page of "
    "providers. It said: {said}",
    "key": "{name} does not accept the key. Check that it was copied whole, belongs to this provider and is "
    "not revoked. It said: {said}",
    "money": "{name} asks to be paid: the account behind the key has no credit left. It said: {said}",
    "forbidden": "{name} does not let us in: the key is known but may not use this model, or this place is "
    "blocked. It said: {said}",
    "model": "{name} was not found{there}. Check how the model is written, and that the address ends as the "
    "provider says (often /v1). It said: {said}",
    "provider": "{name} names no provider that is known here. Write it as provider/model, for example "
    "openai/gpt-4.1-mini, or give the address of a server of your own. It said: {said}",
    "address": "{name} did not answer: nothing is reached{there}. Is the server running, and is its address "
    "right? It said: {said}",
    "silent": "{name} did not answer in time{there}: the question was taken and nothing came back. It said: "
    "{said}",
    "busy": "{name} did not answer: it is busy or allows no more questions for now. It said: {said}",
    "broken": "{name} did not answer: something is broken on its side. It said: {said}",
    "question": "{name} refused the question. It said: {said}",
}


class Hung(Exception):
    """The watchdog's: a question was out longer than any answer may take."""

    status_code = 408

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:.0f} seconds")


def status(error: Exception) -> int | None:
    """What the provider really said: litellm sometimes goes by the words in the body instead."""
    said = getattr(getattr(error, "response", None), "status_code", None)
    return said or getattr(error, "status_code", None)


def kind(error: Exception) -> Kind:
    """What is wrong, by the words of the refusal where its status says less."""
    code, words = status(error), str(error).lower()
    if "llm provider not provided" in words:
        return "provider"
    if _NO_KEY.search(words):
        return "keyless"
    if code in (400, 402, 403, 429) and any(text in words for text in _NO_MONEY):
        return "money"
    if code == 400 and any(text in words for text in _NO_MODEL):
        return "model"
    if code != 429 and any(text in words for text in _WRONG_KEY):
        return "key"
    if any(type(cause).__name__ in ("ConnectError", "ConnectTimeout") for cause in _causes(error)):
        return "address"
    if code is None or code >= 500:
        return _KINDS.get(code or 0, "broken")
    return _KINDS.get(code, "question")


def may_pass(error: Exception) -> bool:
    """Whether the same question may fare better in a while that is worth waiting for."""
    asked = retry_after(error)
    if kind(error) in FINAL or (asked is not None and asked > LONGEST_WAIT):
        return False
    code = status(error)
    return code is None or code >= 500 or code in (408, 409, 425, 429)


def sentence(error: Exception, access: Access) -> str:
    """What is wrong and what to do about it, for people."""
    name, said = access.title or access.model, access.blanked(quoted(error))
    return _SENTENCES[kind(error)].format(name=name, there=_there(access), said=said)


def _there(access: Access) -> str:
    return f" at {access.api_base}" if access.api_base else ""


def pause(attempt: int, back_off: float) -> float:
    """Seconds to wait before the next attempt: doubling, with jitter so that not all come back at once."""
    return min(back_off * 2 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.75, 1.25)


def retry_after(error: Exception) -> float | None:
    """Seconds the provider asks for, None if it does not say."""
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


def quoted(error: Exception) -> str:
    """The first line of what the provider says, without litellm's class names in front."""
    text = str(getattr(error, "message", error)).strip().partition("\n")[0]
    return _CLASSES.sub("", text)[:300] or "nothing"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
