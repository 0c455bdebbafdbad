"""Tools that call a web service, as a person described the call; live, or replayed from recorded answers.

settings:
  method      GET, POST, PUT, PATCH or DELETE
  url         https://host/path/{argument}?name={argument}; the host is fixed
  headers     {name: text}; {{secret:NAME}} stands for a secret
  body        a JSON structure (or its text) with "{argument}" where a value goes; a text for form and text
  body_as     json, form or text
  keep        JMESPath of what the agent sees of a JSON answer; empty keeps all
  per_minute  calls a minute that this process makes at most
  mode        live or replay
  recorded    [{arguments, result} or {arguments, error}, …], which is all that replay knows

Whether arguments fit the tool's schema is checked in arguments.py. Raises PlanError for settings that cannot
work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_worker.rollout import MAX_RESULT, bounded
from gpu_worker.tools.fetching import MAX_COMPLAINT, Answer, Request, fetch
from gpu_worker.tools.filling import Filling, argument_names, split_url
from gpu_worker.tools.guard import PUBLIC_ONLY, Guard, NotAllowed, address_of
from gpu_worker.tools.pace import pace_of
from gpu_worker.tools.picking import Picker
from gpu_worker.tools.plans import PlanError, list_of, one_of, record_of, text_of
from gpu_worker.tools.recorded import Recorded
from gpu_worker.types import Outside, Tool, ToolError, ToolPlan

MODES = ("live", "replay")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
BODIES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}
PER_MINUTE = 600
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NOT_OURS = {
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}


def http_tool(plan: ToolPlan, outside: Outside, guard: Guard = PUBLIC_ONLY) -> Tool:
    """A tool that makes the planned call. It waits only when it is live. Raises PlanError."""
    call = _read(plan)
    if one_of(plan.settings, "mode", MODES) == "replay":
        recorded = Recorded(list_of(plan.settings, "recorded"))
        return Tool(plan.spec, recorded.answer)

    def live(arguments: dict[str, Any]) -> str:
        filling = Filling(arguments, outside.secret)
        try:
            request = call.request(filling)
            pace_of((plan.spec.name, call.url), call.per_minute).wait()
            return call.shown(fetch(request, guard), filling.blanked)
        except ToolError as error:
            raise ToolError(filling.blanked(str(error))) from None

    return Tool(plan.spec, live, waits=True)


@dataclass(frozen=True)
class _Call:
    method: str
    url: str
    headers: Mapping[str, str]
    body: Any
    body_as: str
    keep: Picker
    per_minute: int

    def request(self, filling: Filling) -> Request:
        headers = {name: filling.header(value) for name, value in self.headers.items()}
        body = self._body(filling)
        if body is not None:
            headers = {"Content-Type": BODIES[self.body_as]} | headers
        return Request(self.method, filling.url(self.url), headers, body)

    def _body(self, filling: Filling) -> bytes | None:
        if self.body in (None, ""):
            return None
        if self.body_as == "json":
            return json.dumps(filling.json(self.body)).encode()
        text = filling.pairs(self.body) if self.body_as == "form" else filling.text(self.body)
        return text.encode()

    def shown(self, answer: Answer, blanked: Callable[[str], str]) -> str:
        """What the agent sees. Raises ToolError for an answer that is an error or not text."""
        if answer.text is None:
            raise ToolError(f"the answer is not text ({answer.content_type or 'of unknown type'})")
        if answer.status >= 400:
            said = bounded(" ".join(blanked(answer.text).split()), MAX_COMPLAINT)
            raise ToolError(f"HTTP {answer.status} {answer.reason}{': ' if said else ''}{said}")
        return bounded(blanked(self.keep.pick(answer.text.strip())), MAX_RESULT)


def _read(plan: ToolPlan) -> _Call:
    settings = plan.settings
    body_as = one_of(settings, "body_as", tuple(BODIES))
    call = _Call(
        method=one_of({"method": text_of(settings, "method").upper()}, "method", METHODS),
        url=text_of(settings, "url"),
        headers=checked_headers(record_of(settings, "headers")),
        body=_body(settings.get("body"), body_as),
        body_as=body_as,
        keep=Picker(text_of(settings, "keep")),
        per_minute=_per_minute(settings.get("per_minute")),
    )
    checked_url(call.url)
    known = set(plan.spec.parameters.get("properties") or ())
    unknown = (argument_names(call.url) | argument_names(call.body)) - known
    if unknown:
        raise PlanError(f"The call uses {{{min(unknown)}}}, and the tool has no parameter of that name.")
    return call


def checked_url(template: str) -> None:
    """Raises PlanError unless the host is fixed and can be read in one way only."""
    head, _, _ = split_url(template)
    try:
        address = address_of(head)
    except NotAllowed as refusal:
        raise PlanError(str(refusal)) from None
    if address.userinfo:
        raise PlanError("An address must not hold a user name or password; use a header and a secret.")


def checked_headers(given: Mapping[str, Any]) -> dict[str, str]:
    """Raises PlanError for headers that are ours to set, or not one line each."""
    for name, value in given.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _NOT_OURS or name.lower().startswith("proxy-"):
            raise PlanError(f"The header “{name[:40]}” cannot be set.")
        if not isinstance(value, str) or not value.isprintable() or argument_names(value):
            raise PlanError(f"The header {name} must be one line of text without arguments.")
    return dict(given)


def _body(given: Any, body_as: str) -> Any:
    if not isinstance(given, str) or not given.strip() or body_as != "json":
        if body_as != "json" and not isinstance(given, str | None):
            raise PlanError(f"A body sent as {body_as} is a text.")
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        raise PlanError('The body is not JSON. Write arguments in quotes, as in {"id": "{id}"}.') from None


def _per_minute(given: Any) -> int:
    if given in (None, ""):
        return PER_MINUTE
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= PER_MINUTE:
        raise PlanError(f"Calls a minute must be a whole number between 1 and {PER_MINUTE}.")
    return given
