"""Is a provider well? The errand that asks it a word and a piece of JSON, and what to do where it is not.

What was found is kept with the provider as plain facts; the sentences are made when it is shown, in the
language of whoever looks.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from gpu_worker.tools.guard import NotAllowed
from gpu_worker.types import Message
from judging import refusals
from judging.access import Access
from judging.llm import Model, NoAnswer
from judging.llm import Refused as NeverAnswers
from judging.spending import Purse
from training.authoring.office import errands
from training.authoring.office.errands import Doing, Failed
from training.judges import providers
from training.models import Errand, Provider
from training.runs.rows import clean

KIND = "test_provider"
PATIENCE = 30.0
LONGEST_QUOTE = 300
WORD: list[Message] = [{"role": "user", "content": "Answer with the word ready and nothing else."}]
JSON: list[Message] = [{"role": "user", "content": 'Answer with the JSON {"ready": true} and nothing else.'}]
SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Finding:
    """How the newest test ended. `tone` is good, warn or bad; `mend` says what to do."""

    tone: Literal["good", "warn", "bad"]
    word: str
    says: str
    mend: str = ""
    quote: str = ""
    """What the provider said, or the connection; somebody else's words."""


def begin(provider: Provider, model: str) -> Errand:
    """Have it tested at the desk; once at a time."""
    mine = Errand.objects.filter(owner=provider.owner_id, kind=KIND, arguments__provider=provider.pk)
    going = mine.exclude(state__in=Errand.OVER).first()
    if going is not None:
        return going
    model = clean(model.strip())[:200]
    return errands.start(owner=provider.owner, kind=KIND, provider=provider.pk, model=model)


def check(doing: Doing) -> dict[str, Any]:
    """The errand. arguments: provider, and model (empty: the first it offers). Result: {ok}."""
    provider = Provider.objects.filter(owner=doing.owner, pk=doing.arguments["provider"]).first()
    if provider is None:
        raise Failed(_("The provider was deleted."))
    model = doing.arguments["model"] or next(iter(providers.models_of(provider)), "")
    if not model:
        raise Failed(_("Name a model that it offers, so that there is something to ask."))
    doing.progress(0, 2, _("Asking %(model)s a word") % {"model": model})
    found = examined(provider, model, doing)
    Provider.objects.filter(pk=provider.pk).update(test=found, tested_at=Now())
    return {"ok": found["ok"]}


def examined(provider: Provider, model: str, doing: Doing) -> dict[str, Any]:
    """The facts: {model, ok, kind, quote, seconds, cost, json}."""
    try:
        access = providers.access_for(provider.owner, f"{provider.name}:{model}")
    except providers.NoProvider as refused:
        return {"model": model, "ok": False, "kind": "unreachable", "quote": str(refused)}
    purse, began = Purse(), time.monotonic()
    asked = Model(access, purse=purse, attempts=1, timeout=PATIENCE)
    try:
        asyncio.run(asked.complete(WORD))
        seconds = time.monotonic() - began
        doing.progress(1, 2, _("Asking %(model)s for JSON") % {"model": model}, cost=purse.spent)
        form = asyncio.run(_form(asked))
    except (NoAnswer, NeverAnswers) as error:
        return {"model": model, "ok": False, **_facts(error, access)}
    cost = None if purse.unpriced else purse.spent
    return {"model": model, "ok": True, "kind": "", "seconds": seconds, "cost": cost, "json": form}


async def _form(model: Model) -> str:
    """In which form it takes a wish for JSON, or "broken" where it gives none."""
    answer = await model.ask(JSON, SCHEMA, name="ready")
    start, end = answer.text.find("{"), answer.text.rfind("}")
    try:
        told = json.loads(answer.text[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        told = None
    return model.form if isinstance(told, dict) and "ready" in told else "broken"


def _facts(error: Exception, access: Access) -> dict[str, Any]:
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    quote = clean(access.blanked(refusals.quoted(cause)))[:LONGEST_QUOTE]
    return {"kind": kind(cause), "quote": quote}


def kind(error: Exception) -> str:
    """What is wrong, where a test can tell more than a run needs to know."""
    causes = list(_causes(error))
    words = " ".join(str(cause) for cause in causes)
    if any(isinstance(cause, NotAllowed) for cause in causes):
        return "not_allowed"
    if any(isinstance(cause, ssl.SSLError) for cause in causes) or "CERTIFICATE" in words or "SSL" in words:
        return "tls"
    if "is not known" in words or "Name or service" in words or "getaddrinfo" in words:
        return "name"
    if _is_page(error, words):
        return "not_openai"
    return refusals.kind(error)


def _is_page(error: Exception, words: str) -> bool:
    """Whether a web page, or nothing OpenAI's clients know, came back."""
    body = str(getattr(getattr(error, "response", None), "text", "") or "")
    told = f"{body} {words}".lower()
    return (
        "<html" in told
        or "<!doctype" in told
        or (refusals.status(error) in (404, 405) and "error" not in told)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def finding(provider: Provider) -> Finding | None:
    """The newest test in words; None before the first."""
    test = provider.test
    if not test:
        return None
    told = {"model": test.get("model", ""), "seconds": f"{test.get('seconds', 0):.1f}"}
    if test["ok"]:
        return _well(test, told)
    says, mend = _troubles(provider).get(test["kind"], _troubles(provider)["broken"])
    return Finding("bad", _("does not answer"), says % told, mend, test.get("quote", ""))


def _well(test: dict[str, Any], told: dict[str, str]) -> Finding:
    cost = test.get("cost")
    told["cost"] = _("at an unknown price") if cost is None else f"${cost:.5f}"
    says = _("%(model)s answered in %(seconds)s s, %(cost)s.") % told
    if test["json"] == "broken":
        mend = _(
            "Asked for JSON it gave none, so it is not fit to be a judge; as a simulated tool it may do."
        )
        return Finding("warn", _("answers, but not in JSON"), says, mend)
    if test["json"] == "none":
        mend = _("It takes no wish for JSON, so it is asked for it in words; that went well.")
        return Finding("good", _("answers"), says, mend)
    return Finding("good", _("answers"), says)


def _troubles(provider: Provider) -> dict[str, tuple[str, str]]:
    """By kind: what is wrong, and what to do."""
    address = provider.api_base or provider.litellm or _("the model server")
    where = {"where": address}
    return {
        "key": (
            _("The key is not accepted."),
            _("Copy it again, whole, from the provider's page of keys; it may have been revoked."),
        ),
        "money": (
            _("The account has no credit left, or its quota is used up."),
            _("Top it up on the provider's page of billing, then test again."),
        ),
        "forbidden": (
            _("The key may not use %(model)s."),
            _("Give the key access to this model, or choose another."),
        ),
        "model": (
            _("There is no model called %(model)s there, or the address ends wrongly."),
            _("Copy the model's name from the provider's list; an address usually ends in /v1."),
        ),
        "provider": (_("Nobody here knows this provider."), _("Choose another kind of provider.")),
        "address": (
            _("Nothing answers at %(where)s.") % where,
            _("Is the server running, and is the port right? Start it, then test again."),
        ),
        "name": (
            _("The host of %(where)s has no address.") % where,
            _("Check how it is spelled, and that this machine has a network."),
        ),
        "not_allowed": (
            _("%(where)s may not be reached from here.") % where,
            _("The operator can allow addresses in her own network with ARTWEB_TOOL_HOSTS."),
        ),
        "not_openai": (
            _("Something answers at %(where)s, but not as OpenAI's interface does.") % where,
            _("The address is probably that of a web page; the one wanted usually ends in /v1."),
        ),
        "tls": (
            _("The connection to %(where)s is not secure.") % where,
            _("Its certificate is wrong or outdated, or it speaks plain http."),
        ),
        "silent": (
            _("%(model)s did not answer in time."),
            _("It may still be loading, or be busy; test again in a minute."),
        ),
        "busy": (
            _("The provider is busy or allows no more questions for now."),
            _("Wait a minute and test again; fewer questions at once may help."),
        ),
        "question": (_("The question was refused."), _("Is %(model)s a model that chats?") % provider.test),
        "unreachable": (_("%(model)s cannot be reached."), ""),
        "broken": (_("Something is broken on the provider's side."), _("Test again in a few minutes.")),
    }
