"""A training's progress on a terminal."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from gpu_worker import types

WORDS = {
    "preparing": "Preparing",
    "baseline": "Baseline evaluation",
    "evaluating": "Evaluating",
    "training": "Training",
    "rollouts": "playing",
    "judging": "judging",
    "learning": "learning",
}


class ProgressBar:
    """Draws on standard error. `watch` takes the loop's reports."""

    def __init__(self, name: str, steps: int, *, shown: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[said]}"),
            console=Console(stderr=True),
            disable=not shown,
        )
        self._steps_task = self._progress.add_task(name, total=steps, said="")
        self._phase_task: TaskID = self._progress.add_task("", total=None, said="")

    def __enter__(self) -> "ProgressBar":
        self._progress.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        self._progress.update(self._phase_task, description=text)

    def watch(self, report: types.Report) -> None:
        match report:
            case types.PhaseChanged(phase, step):
                self.note(WORDS[phase])
                self._progress.update(self._steps_task, completed=step)
            case types.Progress(_, done, total, what):
                self._progress.update(
                    self._phase_task, completed=done, total=total, description=WORDS.get(what, what)
                )
            case types.StepDone(step, metrics):
                said = f"reward {metrics.get('reward', 0):.2f}  success {metrics.get('success', 0):.0%}"
                self._progress.update(self._steps_task, completed=step, said=said)
            case types.Evaluated(evaluation):
                said = f"{evaluation.label}: success {evaluation.success:.0%}"
                self._progress.console.print(said, highlight=False)
            case types.Log(level, text) if level != "info":
                self._progress.console.print(text, highlight=False, markup=False)
