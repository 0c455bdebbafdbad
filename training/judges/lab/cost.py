"""What a hearing will cost, before anybody is asked: questions times price, as a range in dollars."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from training.authoring.launch import money
from training.judges import providers
from training.judges.lab.questions import Hearing, Question, unanswered
from training.models import Group, JudgeTrial


@dataclass(frozen=True)
class Foretold:
    """`dollars` is None where nobody knows the price of `unknown`. `known` are answers there are already."""

    questions: int
    known: int
    dollars: tuple[float, float] | None
    unknown: str = ""

    @property
    def free(self) -> bool:
        return self.dollars is not None and self.dollars[1] == 0

    @property
    def words(self) -> str:
        return money.words(*self.dollars) if self.dollars else ""


def foretold(hearing: Hearing, person: User) -> Foretold:
    wanted = hearing.questions()
    left = unanswered(person, wanted)
    known = len(wanted) - len(left)
    low = high = 0.0
    for judge in hearing.judges:
        asked = [question for question in left if question.judge_model == judge]
        price = providers.price_of(person, judge)
        if price is None and asked:
            return Foretold(len(left), known, None, judge)
        if price is not None:
            dollars = price.of(*_tokens(asked))
            low, high = low + money.UNSURE[0] * dollars, high + money.UNSURE[1] * dollars
    return Foretold(len(left), known, (low, high))


def _tokens(questions: Sequence[Question]) -> tuple[float, float]:
    """Of all questions and of all answers: what such a group took before, else what groups usually take."""
    ids = {question.group_id for question in questions}
    took: dict[int, tuple[float, float]] = {}
    for group, tries, judging in Group.objects.filter(pk__in=ids).values_list("pk", "tries", "judging"):
        usual = (
            money.JUDGE_PROMPT + tries * money.JUDGE_PER_TRY,
            money.JUDGE_ANSWER + tries * money.JUDGE_ANSWER_PER_TRY,
        )
        took[group] = _measured(judging) or usual
    for group, judging in JudgeTrial.objects.filter(group__in=ids, error="").values_list("group", "judging"):
        took[group] = _measured(judging) or took[group]
    asked = [took[question.group_id] for question in questions if question.group_id in took]
    return sum(prompt for prompt, _ in asked), sum(answer for _, answer in asked)


def _measured(judging: dict[str, float]) -> tuple[float, float] | None:
    prompt = judging.get("prompt_tokens") or 0
    return (float(prompt), float(judging.get("answer_tokens") or 0)) if prompt else None
