"""Prune the ledger and the work area."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.base import StepOperator, require_valid
from airflow_provider_blockread.options import parse_age
from airflow_provider_blockread.options.checks import true_or_false

if TYPE_CHECKING:
    from airflow.sdk import Context


class PruneLedgerOperator(StepOperator):
    """Drops the details of old windows and clears the work area; returns how much it removed.

    Published output stays, no file is taken twice, and unpublished windows are left alone. A retry continues after any
    crash. A work area that cannot be reached fails the task after all other work. Before it changes anything, it logs
    what it will do.

    :param older_than: windows published or abandoned at least this long ago: seconds, or text such as `90d`; a
        template.
    :param keep: the number of newest published windows of each feed that are not pruned; a template.
    :param feed: only windows of this feed, a template; default: of all feeds that `source` and `sink` give access to.
    :param keep_manifests: keep the plans of pruned windows, so that clearing their runs can rebuild them.
    :param dry_run: only log and return what would be done.
    :param sink: needed only for the connection of the work area.
    """

    template_fields = (*StepOperator.template_fields, "older_than", "keep", "feed")
    ui_color = "#e3e3e3"

    def __init__(
        self,
        *,
        older_than: float | str = "90d",
        keep: int | str = 100,
        feed: str | None = None,
        keep_manifests: bool = False,
        dry_run: bool = False,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        require_valid(self.task_id, "older_than", older_than, parse_age)
        require_valid(self.task_id, "keep", keep, _number)
        true_or_false(self.task_id, "keep_manifests", keep_manifests)
        true_or_false(self.task_id, "dry_run", dry_run)
        self.older_than = older_than
        self.keep = keep
        self.feed = feed
        self.keep_manifests = keep_manifests
        self.only_proposes = dry_run

    def run_step(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - Airflow's
        """Log what will be done, do it, and return the counts."""
        from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, propose_pruning, prune  # noqa: PLC0415 - not at every DAG parse

        env = self.environment()
        request = PruneRequest(
            older_than=parse_age(self.older_than),
            keep=_number(self.keep),
            feed=self.feed,
            keep_manifests=self.keep_manifests,
        )
        intent = propose_pruning(env, request)
        intent.report(env.observer)
        return intent.to_json() if self.only_proposes else prune(env, request).to_json()


def _number(value: float | str) -> int:
    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
        return int(value)
    msg = f"{value!r} is not a whole number of windows to keep"
    raise OptionsError(msg)
