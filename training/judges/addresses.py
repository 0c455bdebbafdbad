"""Which addresses a person may name as a provider's, and the guard a connection to one goes through.

Somebody who may name any address could otherwise have this machine ask services that only it can reach.
Names are resolved and checked when they are connected to (gpu_worker.tools.guard); here only what is written.
"""

import re

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from gpu_worker.tools.addresses import parsed
from gpu_worker.tools.guard import DEFAULT_PORTS, PORTS, Guard, NotAllowed, address_of
from training.phrasebook import said

LONGEST = 300
_ENDING = re.compile(r"/(chat/completions|completions|models)$")


class Unwelcome(ValueError):
    """A provider cannot be at this address. The sentence says what to do."""


def normal(text: str) -> str:
    """The address as it is kept: without the part that belongs to a single question."""
    return _ENDING.sub("", text.strip().rstrip("/")).rstrip("/")


def guard_for(owner: User, address: str) -> Guard:
    """What a connection to this address may reach. Raises Unwelcome."""
    try:
        url = address_of(address)
        odd = url.query or url.fragment or not 0 < (url.port or 80) < 65536
        if len(address) > LONGEST or odd:
            raise Unwelcome(_("Give the address alone, such as https://api.example.com/v1."))
        host, port = url.host.lower(), url.port or DEFAULT_PORTS.get(url.scheme, 0)
        here = is_this_machine(host)
        door = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if here and door not in settings.TOOL_HOSTS:
            _refuse_unless_allowed(owner, door)
        guard = Guard(hosts=settings.TOOL_HOSTS | ({door} if here else set()))
        guard.check(url)
    except NotAllowed as refused:
        raise Unwelcome(_refusal(str(refused))) from None
    if url.scheme == "http" and not here and not _named(host, port):
        raise Unwelcome(
            _(
                "Over http anybody on the way reads the key and the tries. Use https, or let the operator "
                "allow %(door)s with ARTWEB_TOOL_HOSTS if it is in your own network."
            )
            % {"door": door}
        )
    return guard


def is_this_machine(host: str) -> bool:
    """Whether a host is the machine ArtWeb runs on, by its name or number."""
    number = parsed(host)
    return host == "localhost" or host.endswith(".localhost") or bool(number and number.is_loopback)


def _refuse_unless_allowed(owner: User, door: str) -> None:
    who = settings.LOCAL_MODELS
    if who == "everyone" or (who == "operator" and owner.is_superuser):
        return
    told = {"door": door}
    if who == "nobody":
        raise Unwelcome(
            _(
                "%(door)s is on the machine ArtWeb runs on, where model servers are turned off "
                "(ARTWEB_LOCAL_MODELS=nobody)."
            )
            % told
        )
    raise Unwelcome(
        _(
            "%(door)s is on the machine ArtWeb runs on, and only its operator may use model servers there. "
            "She can allow it to everybody with ARTWEB_LOCAL_MODELS=everyone, or this one with "
            "ARTWEB_TOOL_HOSTS=%(door)s."
        )
        % told
    )


def _named(host: str, port: int) -> bool:
    return f"{host}:{port}" in settings.TOOL_HOSTS or (host in settings.TOOL_HOSTS and port in PORTS)


def _refusal(sentence: str) -> str:
    """The guard's own sentence, and how the operator does what it says she can."""
    told = said(sentence)
    if "the operator can allow" not in sentence:
        return told
    return _("%(sentence)s She does so with ARTWEB_TOOL_HOSTS, where ArtWeb is started.") % {"sentence": told}
