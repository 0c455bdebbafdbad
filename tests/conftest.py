"""A data directory of its own for every test process, and the rows most tests need."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

# Before any settings are read: tests never see, or touch, the data of an installation.
DATA = Path(tempfile.mkdtemp(prefix="artweb-test-"))
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["ARTWEB_DATA"] = str(DATA)
os.environ["ARTWEB_MODELS"] = tempfile.gettempdir()  # where tests make their tiny models
os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
for name in ("DATABASE_URL", "REDIS_URL", "ARTWEB_SECRETS", "ARTWEB_DEBUG", "ARTWEB_HOSTS"):
    os.environ.pop(name, None)
if "ARTWEB_TEST_DATABASE_URL" in os.environ:  # SQLite without it
    os.environ["DATABASE_URL"] = os.environ["ARTWEB_TEST_DATABASE_URL"]
os.setpriority = lambda *_: None  # a training in this process would slow down every test after it
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import django  # noqa: E402

django.setup()

import hypothesis  # noqa: E402
import pytest  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.utils import translation  # noqa: E402

from training.models import Agent, Run, RunScenarios, Scenario  # noqa: E402

hypothesis.settings.load_profile("ci")  # the same examples everywhere, and no time limit for one
MakeRun = Callable[..., Run]


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A page asked for in a language leaves it active in its thread; the next test begins with none."""
    yield
    translation.deactivate()


@pytest.fixture
def user(db: None) -> User:
    """Somebody who owns things. `make_run(owner=…)` gives things to somebody else."""
    return User.objects.create_user("ann")


@pytest.fixture
def other_user(db: None) -> User:
    """Somebody who must never see what `user` owns."""
    return User.objects.create_user("bob")


@pytest.fixture
def agent(user: User) -> Agent:
    """An agent with two training, one validation and two test scenarios of its own."""
    agent = Agent.objects.create(owner=user, name="Order desk", environment="order_desk")
    for key, split in [("t1", "train"), ("t2", "train"), ("v1", "val"), ("e1", "test"), ("e2", "test")]:
        Scenario.objects.create(
            agent=agent,
            key=key,
            split=split,
            messages=[{"role": "user", "content": f"Where is order {key}?"}],
            expect={"answer_has": [["shipped"]]},
        )
    return agent


@pytest.fixture
def make_run(agent: Agent) -> MakeRun:
    """make_run(name="r", state="queued", **columns) -> a Run of `user`'s agent, as a row only."""

    def make(name: str = "order-desk-1", **columns: object) -> Run:
        columns = {"state": Run.State.QUEUED, "steps": 3, "config": {}, **columns}
        columns.setdefault("owner", agent.owner)
        run = Run.objects.create(agent=agent, name=name, request_id=f"request-{name}", **columns)
        RunScenarios.objects.create(
            run=run,
            values=[
                {"id": s.key, "split": s.split, "messages": s.messages, "expect": s.expect, "tags": s.tags}
                for s in agent.scenarios.order_by("id")
            ],
        )
        return run

    return make


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    """A queued run of three steps."""
    return make_run()
