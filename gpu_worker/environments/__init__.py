"""The tasks that come with ArtWeb, one file each. A new one is copied from its nearest and listed here."""

from gpu_worker.environments.order_desk import OrderDesk
from gpu_worker.environments.yes_no_maybe import YesNoMaybe
from gpu_worker.types import Environment

ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment for environment in (OrderDesk(), YesNoMaybe())
}


def environment_named(name: str) -> Environment:
    """The environment called `name`, hyphens or underscores. Raises KeyError with a sentence."""
    try:
        return ENVIRONMENTS[name.replace("-", "_")]
    except KeyError:
        known = ", ".join(sorted(ENVIRONMENTS))
        raise KeyError(f"There is no environment “{name}”; there are {known}.") from None
