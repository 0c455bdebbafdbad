"""The desk: who does which kind of errand. Only the desk worker imports it."""

from training.authoring.guide import draft
from training.authoring.launch import inspection, smoke
from training.authoring.office import errands
from training.authoring.office.errands import Work
from training.authoring.studio import invent, prompt_rendering, scenario_import
from training.authoring.toolbox import console, tables
from training.judges import checkup
from training.judges.lab import hearing
from training.review.compare import errand as comparing
from training.review.tries import measured, replay

WORK: dict[str, Work] = {
    "invent": invent.invent,
    "more_like": invent.more_like,
    "from_csv": draft.from_csv,
    "from_template": draft.from_template,
    "draft": draft.draft,
    "read_table": tables.read_upload,
    "reread_table": tables.read_again,
    "prompt": prompt_rendering.render,
    "read_scenarios": scenario_import.look,
    "import_scenarios": scenario_import.bring,
    "call_tool": console.call_tool,
    "test_tool": console.test_tool,
    "list_mcp": console.list_mcp,
    "smoke": smoke.smoke,
    "replay": replay.play,
    "measure": measured.measure,
    "inspect": inspection.inspect,
    "compare": comparing.compare,
    checkup.KIND: checkup.check,
    "judge_lab": hearing.judge_lab,
}
"""Kind of errand → the function that does it."""


def work(errand_id: int) -> None:
    """Take an errand and do it, unless somebody else has."""
    errand = errands.take(errand_id)
    if errand is not None:
        errands.carry_out(errand, WORK[errand.kind])
