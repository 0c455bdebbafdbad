"""Templates of calls to other machines: {argument} and {{secret:NAME}} stand for what a call puts there.

An argument can never change where a call goes: in a path it stays within its segment, in a query and a form
within its value, in JSON it is a value. What is filled in is never read as a template again. The values of
secrets are remembered, so that they can be blanked in whatever comes back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from gpu_worker.tools.plans import PlanError
from gpu_worker.types import ToolError

_BLANK = re.compile(r"\{\{secret:([A-Z][A-Z0-9_]{0,59})\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEAD = re.compile(r"(https?://[^/?#]+)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
BLANKED = "…"


def argument_names(template: Any) -> set[str]:
    """The arguments that a template, text or JSON, has blanks for."""
    return {match[2] for text in _texts(template) for match in _BLANK.finditer(text) if match[2]}


def secret_names(template: Any) -> set[str]:
    """The secrets that a template, text or JSON, has blanks for."""
    return {match[1] for text in _texts(template) for match in _BLANK.finditer(text) if match[1]}


def split_url(template: str) -> tuple[str, str, str]:
    """Scheme and host, path, query. Raises PlanError if the host is not fixed."""
    parts = _HEAD.fullmatch(template)
    if parts is None:
        raise PlanError("The address must begin with http:// or https:// and a host.")
    if "{" in parts[1] or "}" in parts[1]:
        raise PlanError("The host must be fixed; {…} may stand in the path and after the question mark.")
    return parts[1], parts[2] or "/", parts[3] or ""


class Filling:
    """What one call puts into the blanks."""

    def __init__(self, arguments: Mapping[str, Any], secret: Callable[[str], str]) -> None:
        self._arguments, self._secret = arguments, secret
        self._revealed: set[str] = set()

    def url(self, template: str) -> str:
        """Raises ToolError if an argument would leave its place in the path."""
        head, path, query = split_url(template)
        filled = "/".join(self._segment(segment) for segment in path.split("/"))
        pairs = self.pairs(query, quote)
        return f"{head}{filled}{'?' if pairs else ''}{pairs}"

    def pairs(self, template: str, written: Callable[..., str] = quote_plus) -> str:
        """name=value&…; a pair whose argument was not given is left out."""
        kept = [pair for pair in template.split("&") if argument_names(pair) <= set(self._arguments)]
        return "&".join(self._filled(pair, lambda value: written(value, safe="")) for pair in kept)

    def text(self, template: str) -> str:
        """With the values as they are; an argument that was not given is an empty text."""
        return self._filled(template, str)

    def header(self, template: str) -> str:
        """Raises ToolError if it would be more than one line."""
        filled = self._filled(template, str)
        if not filled.isascii() or not filled.isprintable():
            raise ToolError("a header of this tool must be one line of ASCII")
        return filled

    def json(self, template: Any) -> Any:
        """A text that is one blank becomes the argument's value, or is left out if it was not given."""
        if isinstance(template, dict):
            return {name: self.json(one) for name, one in template.items() if not self._is_missing(one)}
        if isinstance(template, list):
            return [self.json(one) for one in template if not self._is_missing(one)]
        if not isinstance(template, str):
            return template
        whole = _BLANK.fullmatch(template)
        return self._arguments[whole[2]] if whole and whole[2] else self._filled(template, str)

    def blanked(self, text: str) -> str:
        """The text without the secrets that were put into this call. Done before it is cut anywhere."""
        for value in sorted(self._revealed, key=len, reverse=True):
            in_json = json.dumps(value)[1:-1]
            ways = (value, quote(value, safe=""), quote_plus(value), in_json, in_json.replace("/", "\\/"))
            for way in ways:
                text = text.replace(way, BLANKED)
        return text

    def _segment(self, template: str) -> str:
        filled = self._filled(template, _path_value)
        if unquote(filled) in (".", "..") or (template and not filled):
            raise ToolError("an argument that is part of the address must not be empty or only dots")
        return filled

    def _is_missing(self, template: Any) -> bool:
        whole = _BLANK.fullmatch(template) if isinstance(template, str) else None
        return bool(whole and whole[2] and whole[2] not in self._arguments)

    def _filled(self, template: str, written: Callable[[str], str]) -> str:
        return _BLANK.sub(lambda blank: written(self._value(blank)), template)

    def _value(self, blank: re.Match[str]) -> str:
        if blank[1]:
            value = self._secret(blank[1])
            self._revealed.add(value)
            return value
        return _as_text(self._arguments.get(blank[2], ""))


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be sent


def _path_value(value: str) -> str:
    if not value.isprintable() or "/" in value or "\\" in value:
        raise ToolError("an argument that is part of the address must not hold slashes or line breaks")
    return quote(value, safe="")


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict):
        for one in template.values():
            yield from _texts(one)
    elif isinstance(template, list):
        for one in template:
            yield from _texts(one)
