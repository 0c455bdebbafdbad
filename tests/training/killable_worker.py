"""A worker that can be killed, as a program: trains the runs whose ids it reads, each in a child of its own.

Prints the child's process id, then how it ended. It loads torch once and forks, so that a kill costs a
second and not ten. Everything is real except the judge, which the tiny random model can please. A child
that is given a step halts when the first group of that step is judged, until it is told to go on: so it is
there to be killed, however late the test comes.
"""

import os
import signal
import sys

import django

from artweb import settings

settings.DATABASES["default"]["NAME"] = os.environ["ARTWEB_TEST_DATABASE"]
django.setup()

from gpu_worker.types import Group, Judge  # noqa: E402
from tests.gpu_worker import small_run  # noqa: E402
from training.runs import tasks, worker  # noqa: E402


def judge_that_halts(step: int) -> Judge:
    """Once, in that step; never for 0."""
    ahead = [step] if step else []

    async def judge(group: Group) -> Group:
        if ahead and group.step >= ahead[0]:
            ahead.clear()
            os.kill(os.getpid(), signal.SIGSTOP)
        return await small_run.judge(group)

    return judge


def train(run: int, halts_in: int) -> None:
    judge = judge_that_halts(halts_in)
    worker.judge_for = lambda *_, **__: judge  # type: ignore[assignment]
    tasks.train(run)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        run, halts_in = map(int, line.split())
        child = os.fork()
        if child == 0:
            train(run, halts_in)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
