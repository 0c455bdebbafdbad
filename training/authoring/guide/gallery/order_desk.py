"""Order desk: the shop's two tables as tools anybody can look into and change, with its questions.

Names, texts and answers of the tools are those of `gpu_worker/environments/order_desk.py`, so that what is
learned here is what is learned there.
"""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gpu_worker.environments.order_desk import OrderDesk, customers_csv, orders_csv
from gpu_worker.tools.table import look_up_tool, parse_table
from gpu_worker.tools.tables import save
from gpu_worker.tools.tables.delimited import read_delimited
from gpu_worker.tools.tables.sheet import as_json
from training.authoring.guide import agents
from training.authoring.guide.gallery.card import Card
from training.authoring.guide.gallery.practice import practice
from training.models import Agent, Scenario, TableFile, Tool

COUNTS = {"train": 400, "val": 48, "test": 100}
BATCH = 500


def make(owner: User) -> Agent:
    with transaction.atomic():
        agent = agents.create(
            owner=owner,
            name=_("Shop’s order desk"),
            template=CARD.slug,
            description=_(
                "Customers of a shop ask where their order is, what it cost, who gets it, or which was "
                "their latest. The agent looks it up and answers in one sentence, or says that there is "
                "no such order."
            ),
            system_prompt=OrderDesk.system_prompt,
        )
        tables = {"customers": customers_csv(), "orders": orders_csv()}
        for position, (name, content) in enumerate(tables.items()):
            _add_table(agent, name, content.encode(), position)
        Scenario.objects.bulk_create(practice(agent, OrderDesk(), COUNTS), batch_size=BATCH)
    return agent


def _add_table(agent: Agent, name: str, content: bytes, position: int) -> None:
    """The table as a file, and its look-up as a tool."""
    sheet = read_delimited(name, content, {})
    sha256, _path = save(sheet, settings.TABLES_DIR)
    stored = TableFile.objects.create(
        agent=agent,
        name=name,
        filename=f"{name}.csv",
        format="csv",
        sha256=sha256,
        bytes=len(content),
        rows=len(sheet.rows),
        columns=as_json(sheet.columns),
        reading=sheet.reading,
    )
    spec = look_up_tool(parse_table(name, content)).spec
    shown = [column.name for column in sheet.columns]
    Tool.objects.create(
        agent=agent,
        table=stored,
        position=position,
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        kind=Tool.Kind.TABLE,
        settings={"does": "find", "table": sha256, "columns": shown, "shown": shown},
    )


CARD = Card(
    slug="order_desk",
    place=20,
    title=gettext_lazy("Order desk"),
    teaches=gettext_lazy(
        "Answer a shop’s customers with two look-up tools: often one look-up leads to the next, and some "
        "orders do not exist."
    ),
    minutes=gettext_lazy("about 1 minute on two cores"),
    expected=gettext_lazy("from about 60 % to 97 % of unseen questions right in 40 steps, as measured"),
    comes_with=gettext_lazy("Two tables with 500 customers and 2,000 orders, and 548 questions."),
    button=gettext_lazy("Use this template"),
    make=make,
    at_the_desk=True,
)
