"""A worker that can be killed, as a program: trains the runs whose ids it reads, each in a child of its own.

Prints the child's process id, then how it ended. It loads torch once and forks, so that a kill costs a
second and not ten. Everything is real except the judge, which the tiny random model can please.
"""

import os
import sys

import django

from artweb import settings

settings.DATABASES["default"]["NAME"] = os.environ["ARTWEB_TEST_DATABASE"]
django.setup()

from tests.gpu_worker import small_run  # noqa: E402
from training.runs import tasks, worker  # noqa: E402

worker.judge_for = lambda *_, **__: small_run.judge  # type: ignore[assignment]


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            tasks.train(int(line))
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
