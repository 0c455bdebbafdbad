"""The table a person reads, what is kept of it, and README's part that is made from that."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import plot, report, run
from bench.bar import Bar, Outcome, Pair
from tests.bench.test_measure import bar


def outcome(state: str = "met") -> Outcome:
    return Outcome("X1", state, (Pair(1.0, 4.0, 0.1), Pair(2.0, 10.0, 0.0)), {"threads": 2})


def test_a_summary_has_median_and_worst_and_both_sides() -> None:
    told = report.summary(bar(), outcome())
    assert (told["median"], told["worst"]) == (4.5, 4.0)
    assert told["ours"] == {"median": 1.5, "least": 1.0, "most": 2.0}
    assert told["theirs"]["median"] == 7.0
    assert told["machine"]["cores"] >= 1
    assert json.loads(json.dumps(told)) == told


def test_the_table_says_the_verdict_in_words() -> None:
    told = report.table(bar(), outcome())
    assert told.endswith("median 4.5×, worst 4×; ≥ 3× (aim 6): met.")
    assert report.table(bar(), Outcome("X1", "void: they differ")).endswith("≥ 3×: void: they differ.")


def test_bars_are_listed_by_number() -> None:
    names = ["kills", "C10", "H1", "C2", "C1b", "C1"]
    assert sorted(names, key=report.order) == ["C1", "C1b", "C2", "C10", "H1", "kills"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """README and results in a directory of their own, with one result."""
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    monkeypatch.setattr(report, "PLOT", tmp_path / "results" / "bars.svg")
    report.keep(bar(), outcome())
    return tmp_path


def test_readme_gets_the_latest_results_between_its_marks(kept: Path) -> None:
    text = "# Bars\n<!-- results -->\nold\n<!-- /results -->\nafter\n"
    (kept / "README.md").write_text(text)
    report.write_readme([bar()])
    first = (kept / "README.md").read_text()
    assert "| X1 | a bar | – | ≥ 3× | 4.5× | 4× | 2 | 1.5 s | 7 s | met |" in first
    assert "old" not in first and first.startswith("# Bars\n") and first.endswith("after\n")
    report.write_readme([bar()])
    assert (kept / "README.md").read_text() == first


def test_a_title_with_bars_in_it_stays_one_cell(kept: Path) -> None:
    told = report.summary(bar(title="mean |Δ|"), outcome()) | {"measured": "2026-01-01"}
    assert "| mean \\|Δ\\| |" in report.readme_part([told])


def test_the_plot_of_the_bars_is_an_image(kept: Path) -> None:
    (kept / "README.md").write_text("<!-- results -->\n<!-- /results -->\n")
    report.write_readme([bar()])
    root = ElementTree.fromstring((kept / "results" / "bars.svg").read_text())
    assert any("X1" in (text.text or "") for text in root.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.parametrize(
    ("changes", "value", "reach"),
    [
        ({}, 6.0, 2.0),
        ({"score": "share", "must": 0.4}, 0.1, 4.0),
        ({"score": "own", "smaller": False}, 1.5, 0.5),
    ],
)
def test_reach_is_more_than_one_where_a_bar_is_met(
    changes: dict[str, object], value: float, reach: float
) -> None:
    assert plot.reach(report.summary(bar(**changes), outcome()), value) == pytest.approx(reach)


def test_lines_are_drawn_for_every_series() -> None:
    image = plot.lines({"a": [(1, 2), (4, 9)], "b": [(2, 3), (8, 30)]}, "tokens", "seconds")
    assert image.count("<polyline") == 2
    ElementTree.fromstring(image)


def every_bar() -> list[Bar]:
    return run.all_bars()


def test_every_bar_has_a_name_of_its_own_and_a_bound() -> None:
    ids = [one.id for one in every_bar()]
    assert len(ids) == len(set(ids))
    assert {"C3-t6m", "C4-desk", "C6-bytes", "C7-drift", "kills-on", "order-desk", "work", "H2"} <= set(ids)
    assert all(set(one.small) | set(one.search) <= set(one.options) for one in every_bar())


def test_a_name_stands_for_its_variants_and_an_unknown_one_is_refused() -> None:
    assert [one.id for one in run.chosen(["c6"])] == ["C6-bytes", "C6-memory"]
    with pytest.raises(ValueError, match="no bar C99"):
        run.chosen(["C99"])


@pytest.mark.parametrize(("asked", "is_kept"), [({}, True), ({"small": True}, False), ({"steps": 3}, False)])
def test_only_the_bars_own_work_is_kept(
    kept: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, object], is_kept: bool
) -> None:
    path = kept / "results" / "X1.json"
    path.unlink()
    mine = bar(options={"steps": 8}, small={"steps": 1})
    monkeypatch.setattr(run, "all_bars", lambda: [mine])
    told = {"bars": ["X1"], "pairs": 1, "json": False, "small": False, "list": False, "readme": False}
    assert run.main(told | asked) == 0
    assert path.exists() is is_kept
