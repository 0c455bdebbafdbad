"""The list of tries at 100k or a million: pages with and without filters, first, next and last.

    python -m bench.sides.list_page '{"side": "ours", "data": "/tmp/tries", "rounds": 5}'

`theirs` is Django's ListView with a Paginator over the same tables and indexes, with `select_related`, the
same filters and orders, and a plainer template. Both are asked through the whole site, signed in. The figure
is the 99th percentile over all requests, in milliseconds.
"""

from __future__ import annotations

import html
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench import tries

FILTERS: tuple[dict[str, str], ...] = (
    {},
    {"label": "train"},
    {"label": "trained"},
    {"success": "no"},
    {"success": "no", "label": "train"},
    {"scenario": "s7"},
    {"step_from": "100", "step_to": "110"},
    {"step_from": "100", "step_to": "1000"},
    {"score_from": "0.9"},
    {"score_from": "0.5", "success": "no", "label": "train"},
    {"error": "unfinished"},
    {"error": "calls", "success": "yes"},
    {"tool": "find_order"},
    {"tool": "escalate"},
    {"tool": "find_order", "score_to": "0.1"},
    {"order": "best"},
    {"order": "best", "success": "no"},
    {"order": "worst", "label": "train"},
    {"order": "longest"},
)
TEMPLATE = """<ol>{% for try in object_list %}<li><a href="/trajectories/{{ try.pk }}/">
{{ try.group.run.name }}, step {{ try.step }}, group {{ try.group.index }}, try {{ try.index }}</a>
{{ try.reward }} {{ try.human }} {{ try.success }} {{ try.ended }} {{ try.turns }} {{ try.advantage }}
<p>{{ try.group.prompt|truncatechars:160 }}</p>
<p>{{ try.answer|truncatechars:160 }}</p></li>{% endfor %}</ol>
<p>{{ page_obj.number }} of {{ paginator.num_pages }}</p>"""


def ours(client: Any, query: dict[str, str]) -> list[dict[str, str]]:
    """The queries of three pages: the first, the next, the last."""
    from django.http import QueryDict

    page = html.unescape(client.get("/tries/", query).content.decode())
    links = re.findall(r'href="\?([^"]*&(?:after=[^"]*|last=1))"', page)
    return [query] + [QueryDict(link).dict() for link in links]


def theirs(client: Any, query: dict[str, str]) -> list[dict[str, str]]:
    pages = int(client.get("/peer/", query).content.decode().rpartition(" of ")[2].removesuffix("</p>"))
    return [query] + ([query | {"page": "2"}, query | {"page": "last"}] if pages > 1 else [])


def peer_view() -> Any:
    """A ListView as its documentation has it."""
    from django.contrib.auth.mixins import LoginRequiredMixin
    from django.db.models import QuerySet
    from django.http import HttpResponse
    from django.template import engines
    from django.views.generic import ListView

    from training.models import Trajectory

    template = engines["django"].from_string(TEMPLATE)
    orders = {"best": ["-reward", "-id"], "worst": ["reward", "id"], "longest": ["-turns", "-id"]}
    names = {
        "label": "label",
        "scenario": "scenario_key",
        "step_from": "step__gte",
        "step_to": "step__lte",
        "score_from": "reward__gte",
        "score_to": "reward__lte",
        "tool": "tools_called__tool",
    }

    class Tries(LoginRequiredMixin, ListView):  # type: ignore[type-arg]
        paginate_by = 50

        def get_queryset(self) -> QuerySet[Trajectory]:
            asked = self.request.GET
            found = Trajectory.objects.filter(run=asked["run"], run__owner=self.request.user)
            found = found.filter(**{names[name]: value for name, value in asked.items() if name in names})
            if "success" in asked:
                found = found.filter(success=asked["success"] == "yes")
            if asked.get("error") == "unfinished":
                found = found.exclude(ended="answered")
            if asked.get("error") == "calls":
                found = found.filter(failed_calls__gt=0)
            return found.select_related("group__run").order_by(*orders.get(asked.get("order", ""), ["-id"]))

        def render_to_response(self, context: Any, **more: Any) -> HttpResponse:
            return HttpResponse(template.render(context, self.request))

    return Tries.as_view()


def add_peer() -> None:
    from django.urls import path

    from artweb import urls

    urls.urlpatterns.insert(0, path("peer/", peer_view()))


def signed_in() -> Any:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.get())
    return client


def main(side: str, data: str, rounds: int, every: bool = False) -> dict[str, Any]:
    run = tries.make(Path(data), 0)["run"]
    add_peer()
    client = signed_in()
    pages_of, address = (ours, "/tries/") if side == "ours" else (theirs, "/peer/")
    asked = [page for filters in FILTERS for page in pages_of(client, {"run": str(run), **filters})]
    taken: dict[str, list[float]] = {json.dumps(query): [] for query in asked}
    for _round in range(rounds):
        for query in asked:
            began = time.perf_counter()
            answer = client.get(address, query)
            taken[json.dumps(query)].append(1000 * (time.perf_counter() - began))
            assert answer.status_code == 200
    each = sorted(one for found in taken.values() for one in found)
    medians = {query: round(statistics.median(found), 1) for query, found in taken.items()}
    slowest = sorted(medians.items(), key=lambda one: -one[1])
    return {
        "figure": each[int(0.99 * (len(each) - 1))],
        "median_ms": statistics.median(each),
        "requests": len(each),
        "slowest": dict(slowest if every else slowest[:5]),
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
