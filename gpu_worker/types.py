"""The vocabulary of the engine room: every noun that crosses a border, as a frozen dataclass.

Read this first. Plain data goes in (`Job`), plain data comes out (`Report`, `Summary`); the two
functions the loop is given, `Judge` and `Record`, are all it knows of the outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:  # the web process reads this file and never loads torch
    from collections.abc import Mapping
    from concurrent.futures import Future

    from torch import Tensor

Message = dict[str, Any]
"""One chat message in OpenAI's form: role, content, and tool_calls or tool_call_id where they apply."""

Split = Literal["train", "val", "test"]
Source = Literal["ruler", "checks", "environment", "mix", "length", "format", "human"]
VERIFIABLE: tuple[Source, ...] = ("checks", "environment")
"""Sources that need no judge, best first. The best there is decides what counts as a success."""
OFFLINE_JUDGE = "artweb/offline"
"""The judge that goes by rules and answers at once."""
Ended = Literal["answered", "malformed_call", "unknown_tool", "too_many_turns", "context_overflow", "cut_off"]
"""Why a try ended. Only `answered` is a full try; `cut_off` means a turn reached max_tokens."""


@dataclass(frozen=True)
class ToolSpec:
    """What the model reads of a tool. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolError(Exception):
    """A tool refused a call; the text goes back to the model as the tool's answer."""


@dataclass(frozen=True)
class Tool:
    """A tool an agent may call. `call` takes the arguments and returns the text the model sees.

    A tool that `waits` (for another machine, a process, a language model) is called in a thread, so that
    the others' tries go on; one that does not is called at once, which is faster and repeats to the bit.
    """

    spec: ToolSpec
    call: Callable[[dict[str, Any]], str]
    waits: bool = False


ToolKind = Literal["table", "http", "python", "mcp", "simulated"]


@dataclass(frozen=True)
class ToolPlan:
    """A tool as a person described it, in plain data; `gpu_worker.tools.build` makes a Tool of it.

    `settings` by kind, each explained where it is read:
      table      {does: find|count|search|update|insert, table: sha256, path, columns: […], shown: […]}
      http       {method, url, headers, body, keep, mode: live|replay, recorded: [{arguments, result}], …}
      python     {code}
      mcp        {url or program, tool, headers}
      simulated  {description, examples: [{arguments, result}], model, …}
    `faults` are shares of calls, 0 to 1, that go wrong on purpose: {timeout, error, empty}.
    """

    spec: ToolSpec
    kind: ToolKind
    settings: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outside:
    """What tools may need from beyond the engine room. What is not given raises ToolError when used."""

    secret: Callable[[str], str]
    """The value of a secret by its name. Raises ToolError if there is none of that name."""
    ask: Callable[[str, Sequence[Message]], str]
    """A language model's answer (model name, messages), within the run's budget. Raises ToolError."""
    programs: Callable[[str], tuple[str, ...]]
    """The command of an MCP server that the operator allows, by its name. Raises ToolError if not allowed."""
    hosts: frozenset[str] = frozenset()
    """Names (or name:port) in the operator's network that tools may call; else only public addresses."""


@dataclass(frozen=True)
class ToolCall:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One practice input. `expect` is what checks verify; the agent never sees it.

    expect (all keys optional):
      answer_has   list of lists: of each inner list one text must stand in the final answer
      answer_lacks list of texts that must not stand in it
      evidence     list of texts, each of which must stand in some tool result of the try
      calls        list of {"name": …, "arguments": {…subset…}} of which each must have been made
      changes      list of changes to tables, as their tools tell them; the try must make these and no other
    """

    id: str
    split: Split
    messages: tuple[Message, ...]
    expect: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    rubric: str = ""
    """What the judge is asked to look at in this scenario; empty uses the job's rubric."""


@dataclass(frozen=True)
class Sampling:
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 96
    seed: int = 0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Completion:
    """One assistant turn. `prompt_ids + token_ids` is everything the model has seen after it.

    token_ids include the end-of-turn token when finish is "stop"; logprobs are those of the
    sampled ids under the sampling distribution at temperature 1 (natural log), one per id.
    `problem` says why a tool call could not be read; tool_calls is then empty.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: Literal["stop", "length", "context"]
    problem: str | None = None


class Engine(Protocol):
    """Chat over token ids. Many `chat` calls may wait at once; the engine batches them."""

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        sampling: Sampling,
        *,
        conversation: str = "",
        seen: Sequence[int] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answer as the assistant.

        `seen` holds the ids of this conversation so far (prompt and sampled). When the chat template
        only appends to it, prompt_ids start with `seen`; otherwise the whole conversation is rendered
        afresh and the caller splits the trajectory. `conversation` names the KV kept between turns.
        `on_text` receives text pieces as they are decoded (the endpoint's streaming; never in training).
        """
        ...

    def release(self, conversation: str) -> None:
        """Forget the KV of a conversation."""
        ...

    def use_adapter(self, directory: Path | None) -> None:
        """Sample with the LoRA adapter in `directory` (PEFT files) from now on; None is the base model."""
        ...

    def adopt(self, weights: Mapping[str, Tensor]) -> None:
        """Sample with these whole weights, by parameter name; others are the base's.

        In use on return when nobody is being answered, else between two of the next tokens: what
        conversations have computed so far stays, so turns under way go on without a pause. The caller never
        changes a tensor it has handed over.
        """
        ...


@dataclass(frozen=True)
class Segment:
    """Token ids that were one unbroken context. logprobs are 0.0 where mask is False (not sampled)."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    mask: tuple[bool, ...]


@dataclass(frozen=True)
class Score:
    source: Source
    value: float
    explanation: str = ""


@dataclass(frozen=True)
class Trajectory:
    """The record of one try. `segments` has more than one entry only where the template rewrote history."""

    scenario_id: str
    index: int
    messages: tuple[Message, ...]
    segments: tuple[Segment, ...]
    ended: Ended
    note: str = ""
    turns: int = 0
    scores: tuple[Score, ...] = ()
    reward: float = 0.0
    success: bool = False
    policy_step: int = 0
    """Training steps behind the weights that sampled it."""


@dataclass(frozen=True)
class Judging:
    """What it took to judge a group. `cost` is in dollars, None where nobody knows the price."""

    calls: int = 0
    """Questions that were put to the model, repairs and second looks included."""
    cached: int = 0
    """Questions whose answer was kept from before and not paid again."""
    seconds: float = field(default=0.0, compare=False)
    cost: float | None = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    second_look: bool = False
    """Whether close scores were judged again in reverse order and averaged."""


@dataclass(frozen=True)
class Group:
    """The G tries at one scenario in one step. `judge` names who gave the reward, for display."""

    step: int
    index: int
    scenario: Scenario
    tools: tuple[ToolSpec, ...]
    trajectories: tuple[Trajectory, ...]
    judge: str = ""
    judging: Judging | None = None

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(t.reward for t in self.trajectories)


class JudgeFailed(Exception):
    """The judge gave no usable answer for a group after its repair and re-ask; the group is dropped."""


class TooFewJudged(Exception):
    """More groups of a step than Job.most_dropped allows had no usable judgement; the text has figures."""


Judge = Callable[[Group], Awaitable[Group]]
"""Returns the group with every trajectory's scores, reward and success filled. Raises JudgeFailed."""


AUTHORED = "authored"
"""Name in a Job of the environment of agents that people described; environments/authored.py is it."""


class Environment(Protocol):
    """A task that comes with ArtWeb: one file in `environments/`."""

    name: str
    title: str
    system_prompt: str
    max_turns: int

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        """`count` scenarios; no two splits share a table row or a prompt. Raises ValueError if too many."""
        ...

    def tools(self, scenario: Scenario) -> list[Tool]:
        """Fresh tools for one try."""
        ...

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        """The environment's own score (source "environment"), or None where checks say it all."""
        ...


@dataclass(frozen=True)
class Job:
    """Everything one training needs, frozen. Each knob says what it does."""

    run: str
    """Names the run; part of every seed."""
    environment: str
    """Name of the environment the agent plays in."""
    base_model: str = "embedded"
    """"embedded", a local model directory, or a hub id."""
    directory: str = ""
    """Where checkpoints are written."""
    scenarios: tuple[Scenario, ...] = ()
    """All splits; train ones are drawn without replacement, reshuffled every pass."""
    system_prompt: str = ""
    """What the agent is told first."""
    seed: int = 0
    """Every random choice follows from this number."""
    steps: int = 40
    """Training steps; each makes one weight update by default."""
    groups_per_step: int = 16
    """Scenarios per step."""
    group_size: int = 8
    """Tries at each scenario (G)."""
    sampling_budget: float = 2.0
    """Groups a step may play to replace tied ones, as a multiple of groups_per_step; 1 turns refill off."""
    curriculum: bool = True
    """Prefer scenarios that are solved sometimes; always and never solved ones rest and are re-checked."""
    samplers: int = 2
    """Processes that play tries, one torch thread each; 0 plays them in the trainer's own process."""
    sampler_dtype: Literal["float32", "bfloat16"] = "float32"
    """Number format of sampling; bfloat16 is faster on some machines, float32 repeats to the last bit."""
    off_policy_steps: int = 0
    """0 learns only from tries of the newest weights; 1 plays the next step's tries while it learns."""
    max_turns: int = 6
    """Assistant turns before a try is ended."""
    max_tokens: int = 96
    """Tokens an assistant turn may use."""
    max_context: int = 1024
    """Tokens a whole try may use."""
    temperature: float = 1.0
    """Sampling temperature of training tries; evaluation samples at the same temperature."""
    learning_rate: float = 1.5e-3
    """Peak learning rate of AdamW."""
    final_learning_rate: float = 0.1
    """Share of the peak that the cosine schedule ends at."""
    weight_decay: float = 0.0
    """AdamW's weight decay."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm."""
    optimizer_steps: int = 1
    """Weight updates per training step; 1 keeps training exactly on-policy."""
    lora_rank: int = 16
    """Rank of the LoRA matrices on all linear layers; 0 trains all weights instead."""
    lora_alpha: float = 32.0
    """LoRA scale: alpha / rank multiplies the low-rank product."""
    loss: Literal["cispo", "ppo", "gspo"] = "cispo"
    """Policy loss: CISPO, PPO's clip (with a higher upper bound: DAPO), or GSPO's ratio of whole tries."""
    clip_low: float | None = None
    """Importance ratios are clipped below 1 - clip_low; empty takes the loss's own bound."""
    clip_high: float | None = None
    """Importance ratios are clipped above 1 + clip_high; empty takes the loss's own bound."""
    loss_mean: Literal["token", "try", "constant"] = "token"
    """Mean over all tokens, over tries of their token means (GRPO), or per try and max_tokens (Dr. GRPO)."""
    advantage_scale: Literal["batch", "group", "none"] = "batch"
    """Advantages are divided by the spread of the batch, of their group (GRPO), or not at all (Dr. GRPO)."""
    importance: Literal["none", "truncate", "mask"] = "none"
    """Where sampler and learner differ: nothing, weights up to importance_cap, or tokens beyond left out."""
    importance_cap: float = 2.0
    """Largest importance weight of that correction."""
    kl_coefficient: float = 0.0
    """Weight of the KL penalty to the base model; 0 only shows it."""
    kl_in: Literal["loss", "advantage"] = "loss"
    """Whether the KL penalty is a part of the loss or lowers the advantages."""
    tie_tolerance: float = 1e-6
    """Rewards closer together than this are a tie; a tied group teaches nothing and is dropped."""
    eval_every: int = 10
    """Steps between validations; 0 turns them off."""
    eval_scenarios: int = 200
    """Held-out test scenarios of the evaluation before and after."""
    val_scenarios: int = 48
    """Validation scenarios of the checks in between."""
    tools: tuple[ToolPlan, ...] = ()
    """Tools of an authored agent, in the order the model reads them."""
    budget: float = 0.0
    """Dollars that judge and simulated tools may cost; the run pauses before spending more. 0 is no limit."""
    reward: Source = "ruler"
    """Which score is the reward."""
    judge_model: str = OFFLINE_JUDGE
    """litellm name of the judge."""
    rubric: str = ""
    """What the judge is asked to look at; empty uses the default rubric."""
    mix: dict[str, float] = field(default_factory=dict)
    """Weights where the reward is a mix: ruler, checks, environment, and the penalties length and format."""
    second_look: float = 0.05
    """Tries are judged again in reverse order where their scores lie closer than this; 0 turns it off."""
    control: bool = False
    """Add an empty try to every judged group; where the judge prefers it, the group is dropped."""
    most_dropped: float = 0.2
    """Share of a step's groups that may go without a usable judgement before the run pauses."""
    keep_checkpoints: int = 3
    """Newest checkpoints kept on disk, besides the best."""


Purpose = Split
"""Part of every seed, so that practice and examination never share their chance."""


@dataclass(frozen=True)
class Place:
    """Where in the run a group is played; with the try and the turn it decides every seed."""

    purpose: Purpose
    step: int
    index: int


@dataclass(frozen=True)
class Outcome:
    """One held-out scenario, tried once."""

    scenario_id: str
    success: bool
    reward: float


@dataclass(frozen=True)
class Evaluation:
    label: Literal["baseline", "validation", "trained"]
    step: int
    split: Split
    outcomes: tuple[Outcome, ...]

    @property
    def success(self) -> float:
        return sum(o.success for o in self.outcomes) / max(1, len(self.outcomes))

    @property
    def reward(self) -> float:
        return sum(o.reward for o in self.outcomes) / max(1, len(self.outcomes))


@dataclass(frozen=True)
class CheckpointFile:
    """A verified checkpoint on disk. sha256 is that of the adapter weights."""

    step: int
    directory: str
    sha256: str
    bytes: int


# Reports: what the loop tells `record`. Each has a key that is the same when a killed step is played again.


@dataclass(frozen=True)
class PhaseChanged:
    phase: Literal["preparing", "baseline", "training", "evaluating"]
    step: int = 0


@dataclass(frozen=True)
class Progress:
    """Tries finished within the present phase or step; not kept as an event, only shown."""

    step: int
    done: int
    total: int
    what: Literal["baseline", "rollouts", "judging", "learning", "evaluating"]


@dataclass(frozen=True)
class GroupJudged:
    group: Group
    split: Split
    label: Literal["train", "baseline", "validation", "trained"]
    tied: bool


@dataclass(frozen=True)
class GroupDropped:
    step: int
    index: int
    scenario_id: str
    reason: str


@dataclass(frozen=True)
class StepDone:
    """advantages maps group index to the advantages of its tries, for groups that were trained on."""

    step: int
    metrics: dict[str, float]
    advantages: dict[int, tuple[float, ...]]
    checkpoint: CheckpointFile


@dataclass(frozen=True)
class Evaluated:
    evaluation: Evaluation


@dataclass(frozen=True)
class Log:
    level: Literal["info", "warning", "error"]
    text: str
    key: str
    """Names the line, so that a replayed step does not write it twice."""


Report = PhaseChanged | Progress | GroupJudged | GroupDropped | StepDone | Evaluated | Log
Wish = Literal["go", "pause", "stop"]
Record = Callable[[Report], Wish]
"""Stores a report and returns what the run's owner wishes. Storing the same report twice is harmless."""


Corrected = Callable[[int], Sequence[Group]]
"""Groups of steps before that a person has scored anew, to be learned from in the given step besides its own.

Their rewards are the person's. Asked again for the same step (after a kill), it answers the same.
"""


@dataclass(frozen=True)
class Batch:
    """What a training step learns from: the trajectories of the trainable groups with their advantages.

    groups[i] and advantages[i] belong together; advantages[i] has one number per trajectory. Where `parts`
    is given, groups[i] is learned in part parts[i] (see ahead.py), and `unit` is what all advantages are
    still to be divided by.
    """

    groups: tuple[Group, ...]
    advantages: tuple[tuple[float, ...], ...]
    learning_rate: float
    parts: tuple[int, ...] = ()
    unit: float = 1.0


class Trainer(Protocol):
    def study(
        self, part: int, groups: Sequence[Group], advantages: Sequence[tuple[float, ...]]
    ) -> Future[Any]:
        """Begin to compute a part of the next update, which will have these groups in it, undivided
        advantages and all; returns at once. It changes no result, only when it is computed."""
        ...

    def update(self, batch: Batch) -> dict[str, float]:
        """One training step. Metrics: loss, grad_norm, entropy, clip_fraction, kl, ratio_p01, ratio_p50,
        ratio_p99, ratio_max, tokens (sampled ones learned from), nodes (computed, shared ones once)."""
        ...

    def weights(self) -> Mapping[str, Tensor]:
        """The whole weights, by parameter name, that differ from the base model; never changed afterwards."""
        ...

    def save(self, directory: Path) -> None:
        """Write adapter (PEFT files), optimizer and random state into an existing directory."""
        ...

    def load(self, directory: Path) -> None:
        """Take up exactly where `save` left off."""
        ...


class Players(Protocol):
    """Who plays tries: this process (`players.Local`) or processes of their own (`crew.Crew`)."""

    def play(
        self, round_: Sequence[tuple[Scenario, Place]], tries: int, on_try: Callable[[], None]
    ) -> Sequence[Awaitable[Group]]:
        """Begin a round: `tries` tries at each scenario, all at once. Each group can be awaited by itself."""
        ...

    async def use(self, weights: Mapping[str, Tensor], step: int) -> None:
        """Play the next rounds with the weights of training step `step`; none are the base model's."""
        ...


@dataclass(frozen=True)
class Summary:
    ended: Literal["done", "paused", "stopped"]
    steps: int
    trajectories: int
    seconds: float
    baseline: Evaluation | None
    trained: Evaluation | None
    weights_sha256: str
