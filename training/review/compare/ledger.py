"""What a comparison has spent: one purse, however often it is taken up again."""

from pathlib import Path

from django.conf import settings

from judging.spending import Purse
from training.models import Comparison


def purse(comparison: Comparison, dollars: float) -> Purse:
    """What is left of `dollars` for this comparison, however often it was taken up again."""
    path = _file(comparison)
    path.parent.mkdir(parents=True, exist_ok=True)
    return Purse(dollars, path)


def spent(comparison: Comparison) -> float:
    """Dollars, so far."""
    path = _file(comparison)
    return Purse(0.0, path).spent if path.is_file() else 0.0


def _file(comparison: Comparison) -> Path:
    return Path(settings.RUNS_DIR) / str(comparison.run_id) / "comparisons" / str(comparison.pk)
