"""Reading a window again by the tasks of a run: a person requests it here, and the run does it once it is cleared.

The generation is begun first, for the run and the number that its clear will have. The run's plan then finds and
resumes it, whatever the DAG's options are by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.upkeep.requests import finish_request, open_request
from airflow_provider_blockread.ledger.windows.exclusions import without_excluded
from airflow_provider_blockread.ledger.windows.generations import (
    FINISHED,
    latest_generation,
    list_generations,
    published_generation,
)
from airflow_provider_blockread.ledger.windows.progress import require_idle, window_progress
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.plan.restoring import restore_pruned, without_plan
from airflow_provider_blockread.steps.read.submitting import require_code
from airflow_provider_blockread.steps.upkeep.rebuilding import (
    RebuildRequest,
    WindowRange,
    propose_rebuild,
    require_readable,
    start_reading,
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a window is read again: `rebuild` reads all of it, `reprocess` some files, `verify` writes nothing."""

    action: str
    files: FileChoice | None = None  # to reprocess

    def request(self, window: Window) -> RebuildRequest:
        """Return the request for this window."""
        return RebuildRequest(range=WindowRange(window=window.id), files=self.files)


def require_published(env: Environment, window: Window) -> Generation:
    """Return the generation that a verification reads again.

    Raises:
        OptionsError: when the newest generation is not published.
    """
    if window.state == "abandoned":
        msg = (
            f"window {window.id} was abandoned, so nothing of it is published; choose another one with"
            " `blockread windows list`"
        )
        raise OptionsError(msg)
    latest = latest_generation(env.ledger, window.id)
    # An earlier verification may have failed, but the window is still published.
    if latest.state not in FINISHED and latest.mode != "verify":
        begun, give_up = window_progress(env.ledger, window.id), f"`blockread windows abandon {window.id}`"
        msg = (
            f"window {window.id}: generation {latest.number} is {begun}, not published; repeat the command or clear the"
            f" run that began it, or give it up with {give_up}"
        )
        raise OptionsError(msg)
    require_code(env, latest, mode="verify")
    return latest


def _require_idle(env: Environment, window: Window) -> None:
    """Make sure that the window is published, and that nobody verifies it now, whom another reading would fence."""
    require_idle(env.ledger, require_published(env, window), owner="")


def propose_reading(env: Environment, window: Window, reading: Reading) -> Intent:
    """Return what reading the window again would do, without changing anything.

    Raises:
        OptionsError: when it should be verified, but is not published.
        OwnedError: when it should be verified, while another owner verifies it.
    """
    if reading.action != "verify":
        return propose_rebuild(env, reading.request(window))
    _require_idle(env, window)
    why = without_plan(env, window, published_generation(env.ledger, window.id))
    if why:
        return Intent(action="verify", windows=(window_intent(window, why, does=False),))
    number = list_generations(env.ledger, window.id)[-1].number + 1
    files = without_excluded(env.ledger, window).files
    what = f"{plural(files, 'file')} read and proven again as generation {number}; nothing is written"
    return Intent(action="verify", windows=(window_intent(window, what),))


def hand_over(
    env: Environment, window: Window, reading: Reading, *, who: str, run: str, clear_number: int
) -> Generation:
    """Begin a generation for an Airflow run, which reads it once the run is cleared, and return the generation.

    `who` is the person who requests it, `run` the run (`dag_id/run_id`), and `clear_number` the number that the run
    will have once it is cleared.

    Raises:
        CleanedError: when files that would be read were cleaned from the source.
        ConflictError: when a generation of the window is being published.
        OptionsError: when it should be verified, but is not published.
        OwnedError: when it should be verified, while another owner verifies it.
    """
    arguments: dict[str, Any] = {"window": window.id}
    if reading.action == "verify":
        _require_idle(env, window)
    else:
        require_readable(env, window, reading.files)
        arguments = reading.request(window).to_json()
    restore_pruned(env, window)
    arguments |= {"run": run, "clear_number": clear_number}
    request = open_request(env.ledger, reading.action, arguments, who=who)
    begun = start_reading(env, request, window, reading.files)
    finish_request(env.ledger, request)  # from here on the run continues it
    return begun
