"""Signs that the tries or their scores are no good to learn from. How the weights move is not looked at."""

from collections.abc import Iterator
from statistics import median

from django.utils.translation import gettext as _

from training.runs.casebook import LATEST, Facts, Figures, Finding
from training.runs.trend import slope, trend
from training.templatetags.figures import percent, score, signed

HACKING_WINDOWS = (10, 40)
JUDGE_RISE, CHECKS_FALL, APART = 0.1, 0.05, 0.2
"""By how much, at least, over a window, each and from each other: small drifts are in every long run."""
EACH, TOGETHER = 2.0, 3.0
"""So many times what chance alone would do."""
DROPPED = 0.2
TIED = 0.8
TRUNCATED = 0.25
MALFORMED = 0.25
FLAT_STEPS, FLAT = 20, 0.03


def hacking(figures: Figures, facts: Facts) -> Iterator[Finding]:
    """The judge likes the tries better and better while the checks fail more and more.

    Told within ten steps of a judge's mean that rises by 0.2 while the checks fall by 0.1.
    """
    for window in HACKING_WINDOWS:
        pairs = [
            (judged, checks)
            for row in figures.steps[-window:]
            if (judged := row.get("ruler", row.get("reward"))) is not None
            and (checks := row.get("checks")) is not None
        ]
        if len(pairs) < window:
            return
        judge, checked = (slope(values) for values in zip(*pairs, strict=True))
        apart = slope([judged - checks for judged, checks in pairs])
        up = judge.change >= max(JUDGE_RISE, EACH * judge.chance)
        down = -checked.change >= max(CHECKS_FALL, EACH * checked.chance)
        if up and down and apart.change >= max(APART, TOGETHER * apart.chance):
            told = {"steps": window, "judge": signed(judge.change), "checks": signed(checked.change)}
            yield Finding(
                "hacking",
                "alarm",
                _("The judge's scores rise while the checks fall."),
                _("Over the last %(steps)s steps: judge %(judge)s, checks %(checks)s.") % told,
                _(
                    "The agent has probably found out how to please the judge. Pause the run and read the "
                    "tries with the best scores. Then say in the rubric what they get wrong, let the checks "
                    "be a part of the reward, or go on from a checkpoint before the scores parted."
                ),
                "reward",
            )
            return


def dropped(figures: Figures, facts: Facts) -> Iterator[Finding]:
    if (share := figures.above("dropped_share", DROPPED)) is not None:
        yield Finding(
            "dropped",
            "alarm",
            _("The judge loses groups."),
            _("%(share)s of the groups had no usable judgement in the last steps.")
            % {"share": percent(share)},
            _("Look in the log for the reason (a key, a limit, the model's answers) or take another judge."),
            "log",
        )


def tied(figures: Figures, facts: Facts) -> Iterator[Finding]:
    shares = figures.known("tied_share", LATEST)
    if len(shares) < LATEST or min(shares) <= TIED:
        return
    told = {"share": percent(median(shares))}
    if figures.solved:
        yield Finding(
            "solved",
            "note",
            _("There is little left to learn."),
            _("%(share)s of the groups are ties, because nearly every try succeeds.") % told,
            _("The agent can be used as it is; more practice needs harder scenarios."),
            "ties",
        )
        return
    yield Finding(
        "tied",
        "alarm",
        _("Almost no group teaches anything."),
        _("In %(share)s of the groups all tries scored alike, so there is nothing to learn from.") % told,
        _(
            "Read a few groups. If the agent always fails, add easier scenarios or start from a stronger "
            "model; if the judge gives everybody the same score, let the rubric name what makes one try "
            "better. A larger group_size or temperature also brings more difference."
        ),
        "groups",
    )


def truncated(figures: Figures, facts: Facts) -> Iterator[Finding]:
    if (share := figures.above("truncated", TRUNCATED)) is not None:
        yield Finding(
            "truncated",
            "warning",
            _("Many tries are cut off."),
            _("%(share)s of the tries ran out of tokens or context before they were done.")
            % {"share": percent(share)},
            _("Raise max_tokens or max_context, or ask for brief answers in the system prompt."),
            "endings",
        )


def malformed(figures: Figures, facts: Facts) -> Iterator[Finding]:
    if (share := figures.above("malformed", MALFORMED)) is not None:
        yield Finding(
            "malformed",
            "warning",
            _("Many tool calls cannot be read."),
            _("%(share)s of the tries end with a call that is not valid.") % {"share": percent(share)},
            _(
                "Early in training this often mends itself. If it does not fall, give an example of a call "
                "in the system prompt, or start from a model that knows how to call tools."
            ),
            "endings",
        )


def flat(figures: Figures, facts: Facts) -> Iterator[Finding]:
    rewards, ties = figures.known("reward", FLAT_STEPS), figures.known("tied_share", FLAT_STEPS)
    if len(rewards) < FLAT_STEPS or figures.solved or not ties or median(ties) > 0.5:
        return
    change = trend(rewards)
    if change.sure or abs(change.change) >= FLAT:
        return
    yield Finding(
        "flat",
        "warning",
        _("Learning does not show."),
        _("The reward stays at %(reward)s for %(steps)s steps, although most groups could teach something.")
        % {"reward": score(median(rewards)), "steps": FLAT_STEPS},
        _(
            "Look at the gradient norm and at a few groups: if the judge's order looks right to you, raise "
            "learning_rate; if it looks like chance, mend the rubric or the checks first."
        ),
        "reward",
    )
