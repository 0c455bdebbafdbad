"""What a run may spend on language models, what it has spent in all its lives, and how it gets more.

The ledger is a file in the run's directory: all processes of a run share it, and its next life goes on from
it. Paying and refusing is the purse's business (judging.spending).
"""

from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from judging.spending import Purse
from training.models import Run
from training.runs import jobs, services

LEDGER = "spending"


def purse_for(run: Run) -> Purse:
    """The run's purse: its budget, less what it has spent already."""
    path = ledger(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    return Purse(run.config.get("budget", 0.0), path)


def spent(run: Run) -> float:
    """Dollars spent so far; 0 if nothing that costs money was ever asked."""
    return Purse(0.0, ledger(run)).spent if ledger(run).is_file() else 0.0


def ledger(run: Run) -> Path:
    """Where the run's spending is kept."""
    return Path(settings.RUNS_DIR) / str(run.pk) / LEDGER


def reason(run: Run, sentence: str) -> str:
    """Why the run pauses, and what to do. `sentence` has the figures."""
    return _("%(sentence)s Raise the cap on this page to go on, or leave the run as it is: it is saved.") % {
        "sentence": sentence
    }


def raise_to(run: Run, dollars: float) -> None:
    """Give a resting run a larger budget and resume it. Raises services.Refused with a sentence."""
    found = jobs.complaint({"budget": dollars})
    if found:
        raise services.Refused(found)
    gone = spent(run)
    if dollars <= gone:
        told = {"spent": f"${gone:.2f}"}
        raise services.Refused(_("%(spent)s are spent already; give a cap above that.") % told)
    with transaction.atomic():
        held = Run.objects.select_for_update().get(pk=run.pk)
        if held.state not in (Run.State.PAUSED, Run.State.FAILED):
            raise services.Refused(_("The cap can be raised while the run is paused."))
        held.config["budget"] = dollars
        held.save(update_fields=["config"])
    services.resume_run(run)
