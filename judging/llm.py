"""Language models, reached by their litellm name. The only file that names litellm.

Answers are plain text here; what a judge's answer means is left to answers.py. litellm takes two seconds
to import and a run with verifiable rewards never needs it, so it is loaded beside everything else: when
a model is told to `get_ready`, or when the first question is asked. Every answer is paid from a purse.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401  (so that its at-fork hooks are not added while ours wait)
import functools
import importlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from gpu_worker.types import JudgeFailed, Message
from judging import formats, offline
from judging.access import Access
from judging.answer import Answer, said
from judging.guarded import Clients
from judging.kept import Entry, Kept, key_of
from judging.library import Library
from judging.lines import line_of
from judging.refusals import FINAL, FORMAT, Hung, kind, may_pass, pause, retry_after, sentence, status
from judging.spending import Purse
from judging.till import Asking, Till, Unpriced

PROVIDER = offline.MODEL.split("/")[0]
GRACE = 1.0
"""Seconds the library gets to give up by itself before the watchdog ends a question."""


class NoAnswer(Exception):
    """The model did not answer this question; another question may fare better."""


class Silent(NoAnswer):
    """The provider took the question and said nothing until our patience ended: it hangs."""


class Refused(Exception):
    """The model will answer no question at all: a wrong key, name or address. The sentence says which."""


_asked: ContextVar[list[str] | None] = ContextVar("asked", default=None)
"""Under what the answers of the present sitting are kept."""


class Model:
    """A language model. No more questions are out at a time than its provider's `at_once`; others wait.

    A question whose answer the purse might not be able to pay is not asked: BudgetSpent is raised. With a
    directory `kept` an answer is paid once and served from there for the same question.
    """

    def __init__(
        self,
        access: Access | str,
        *,
        purse: Purse | None = None,
        kept: Path | None = None,
        timeout: float = 90.0,
        patience: float = 300.0,
        attempts: int = 5,
        back_off: float = 1.0,
        options: Asking | None = None,
    ) -> None:
        """`timeout` bounds one attempt at a question, `patience` all of them with the pauses, in seconds.

        `options` go to the library with every question and outdo our own, such as the temperature.
        """
        self.access = Access(access) if isinstance(access, str) else access
        self.name = self.access.model
        self.purse = purse or Purse()
        known = (("api_base", self.access.api_base), ("api_key", self.access.api_key))
        self._address = {name: value for name, value in known if value}
        self._timeout, self._patience = timeout, patience
        self._attempts, self._back_off = attempts, back_off
        self._options = dict(options or {})
        self._line = line_of(self.access)
        self._till = Till(self.access, self.purse)
        self._kept = Kept(kept) if kept and self.name != offline.MODEL else None
        self._format = 0
        self._clients = Clients(self.access)
        self._library: Library | None = None

    async def ask(
        self,
        messages: Sequence[Message],
        schema: dict[str, Any],
        *,
        name: str = "scores",
        temperature: float = 0.0,
    ) -> Answer:
        """The model's answer, asked for as JSON by `schema`, which goes by `name`.

        Busy, broken and silent providers are asked again after a growing pause, or the one they ask for.
        Raises NoAnswer (Silent where it hangs), Refused or BudgetSpent.
        """
        ways = [{"temperature": temperature} | asked for asked in formats.of(schema, name)]
        if self._kept is None:
            return await self._patiently(messages, ways)
        key = key_of(self.name, self.access.api_base, messages, schema, temperature, self._options)
        noted = _asked.get()
        if noted is not None:
            noted.append(key)
        entry = await asyncio.to_thread(self._kept.get, key)
        if entry is not None:
            return Answer(entry.text, entry.prompt_tokens, entry.answer_tokens, cached=True)
        answer = await self._patiently(messages, ways)
        if answer.text:
            entry = Entry(answer.text, answer.prompt_tokens, answer.answer_tokens)
            await asyncio.to_thread(self._kept.put, key, entry)
        return answer

    async def complete(self, messages: Sequence[Message], *, temperature: float = 0.0) -> str:
        """The model's answer as plain text, never a kept one. Raises NoAnswer, Refused or BudgetSpent."""
        return (await self._patiently(messages, [{"temperature": temperature}])).text

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        temperature: float = 1.0,
        max_tokens: int = 1024,
    ) -> Answer:
        """One turn of an agent that may call `tools` (in OpenAI's form), never a kept one.

        Raises NoAnswer, Refused or BudgetSpent.
        """
        offered = {"tools": list(tools)} if tools else {}
        asking = {"temperature": temperature, "max_tokens": max_tokens} | offered
        return await self._patiently(messages, [asking])

    @contextmanager
    def sitting(self) -> Iterator[None]:
        """All questions about one thing. If their answers could not be used, they are not served again.

        An answer that was mended is kept with the mending, so that a step which is played again after a kill
        costs nothing; one that led to JudgeFailed would lead there for ever.
        """
        asked: list[str] = []
        before = _asked.set(asked)
        try:
            yield
        except JudgeFailed as failed:
            if self._kept is not None and not isinstance(failed.__cause__, NoAnswer):
                for key in asked:
                    self._kept.forget(key)
            raise
        finally:
            _asked.reset(before)

    @property
    def form(self) -> str:
        """The strictest of formats.NAMES that the provider took so far."""
        return formats.NAMES[self._format]

    def get_ready(self) -> None:
        """Load the library in a thread of its own, while whoever will be judged is still at work."""
        threading.Thread(target=_load_undisturbed, name="litellm", daemon=True).start()

    async def _patiently(self, messages: Sequence[Message], ways: Sequence[Asking]) -> Answer:
        """`ways` of asking are tried in turn where one is not understood."""
        if self._library is None:
            self._library = await asyncio.to_thread(_load_undisturbed)
        async with self._line.seat(self.access.at_once):
            try:
                async with asyncio.timeout(self._patience) as watch:
                    return await self._attempted(self._library, messages, ways)
            except TimeoutError as error:
                if not watch.expired():
                    raise
                raise Silent(sentence(Hung(self._patience), self.access)) from error

    async def _attempted(
        self, library: Library, messages: Sequence[Message], ways: Sequence[Asking]
    ) -> Answer:
        for attempt in range(1, self._attempts + 1):
            await self._line.opened()
            try:
                return await self._ask_in_some_way(library, messages, ways)
            except (library.errors, Hung) as error:
                if attempt == self._attempts or not may_pass(error):
                    given_up = Silent if kind(error) == "silent" else NoAnswer
                    raise given_up(sentence(error, self.access)) from error
                await self._pause(error, attempt)
        raise NoAnswer(f"{self.name} was not asked.")

    async def _pause(self, error: Exception, attempt: int) -> None:
        """What the provider asked for holds for everybody in its line."""
        asked = retry_after(error)
        if asked is None:
            await asyncio.sleep(pause(attempt, self._back_off))
            return
        self._line.close_for(asked)
        await self._line.opened()
        await asyncio.sleep(pause(1, self._back_off) / 4)

    async def _ask_in_some_way(
        self, library: Library, messages: Sequence[Message], ways: Sequence[Asking]
    ) -> Answer:
        """Ask in the strictest format the provider takes; the one that worked is kept for later questions."""
        for at in range(min(self._format, len(ways) - 1), len(ways)):
            try:
                paid = await self._ask_and_pay(library, messages, ways[at])
            except library.errors as error:
                if kind(error) in FINAL:
                    raise Refused(sentence(error, self.access)) from error
                if status(error) not in FORMAT or at == len(ways) - 1:
                    raise
            else:
                self._format = max(self._format, at)
                return paid
        raise NoAnswer(f"{self.name} was not asked.")

    async def _ask_and_pay(self, library: Library, messages: Sequence[Message], asking: Asking) -> Answer:
        """Reserve the most the answer may cost, ask, pay."""
        try:
            longest, most = await asyncio.to_thread(self._till.most, library, messages, asking)
        except Unpriced as error:
            raise Refused(str(error)) from error
        await self._till.reserve(most, self._timeout)
        bounded = asking | ({"max_tokens": longest} if longest else {})
        with self._till.paying(library, most) as bill:
            response = await self._ask_once(library, messages, bounded)
            bill.cost = self._till.receipt(library, response, most)
        return said(response, bill.cost)

    async def _ask_once(self, library: Library, messages: Sequence[Message], asking: Asking) -> Any:
        """The library's own time limit is one of silence; a provider that trickles is stopped here."""
        asked = library.complete(
            model=self.name,
            messages=list(messages),
            timeout=self._timeout,
            max_retries=0,
            drop_params=True,
            **(asking | self._options),
            **self._address,
            **self._clients.through(library),
        )
        try:
            async with asyncio.timeout(self._timeout + GRACE) as watch:
                return await asked
        except TimeoutError as error:
            if not watch.expired():
                raise
            raise Hung(self._timeout + GRACE) from error


def price_of(model: str, prompt_tokens: int, answer_tokens: int) -> float | None:
    """Dollars that an answer costs; 0 for the offline judge, None if nobody here knows.

    Loads litellm (two seconds, and never in the web process) for all but the offline judge.
    """
    if model == offline.MODEL:
        return 0.0
    return _load_library().price_of(model, prompt_tokens, answer_tokens)


_loading = threading.Lock()
"""Nobody forks while a thread loads the library: the child would wait for ever for a thread it has not."""
os.register_at_fork(
    before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release
)


def _load_undisturbed() -> Library:
    with _loading:
        return _load_library()


@functools.cache
def _load_library() -> Library:
    """litellm, quiet, without its look at the network, and with the offline judge known to it."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    handler = type("OfflineJudge", (litellm.CustomLLM,), {"acompletion": _answer_offline})()
    litellm.custom_provider_map = [{"provider": PROVIDER, "custom_handler": handler}]
    return Library(
        complete=litellm.acompletion,
        errors=importlib.import_module("openai").OpenAIError,
        price=litellm.cost_per_token,
        count=litellm.token_counter,
        facts=litellm.get_model_info,
        unknown=getattr(litellm, "ModelNotMappedError", Exception),  # 1.82 and before raise a bare one
        client=importlib.import_module("openai").AsyncOpenAI,
    )


async def _answer_offline(
    _handler: object, *, messages: list[Message], model_response: Any, **_: object
) -> Any:
    model_response.choices[0].message.content = offline.answer(messages)
    return model_response
