"""Prune the ledger and the work area."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class PruneLedgerOperator(StepOperator):
    """Drops the detail of old windows and clears the work area; returns how much that was.

    What is published stays, no file is taken twice, and unpublished windows are left alone. Repeated after any crash
    it goes on. A work area that cannot be reached fails the task when all else is done. Its log says first what it will
    do.

    :param older_than: windows published, or given up, so long ago: seconds, or text such as `90d`; a template.
    :param keep: the newest so many published windows of each feed stay as they are.
    :param feed: only windows of this feed, a template; default: of all feeds that `source` and `sink` give access to.
    :param keep_manifests: leave the plans of pruned windows, so that a clear can rebuild them.
    :param dry_run: only say what would be done, and return that.
    :param sink: needed only where it names the connection of the work area.
    """

    template_fields = (*StepOperator.template_fields, "older_than", "feed")
    ui_color = "#e3e3e3"

    def __init__(
        self,
        *,
        older_than: float | str = "90d",
        keep: int = 100,
        feed: str | None = None,
        keep_manifests: bool = False,
        dry_run: bool = False,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.older_than = older_than
        self.keep = keep
        self.feed = feed
        self.keep_manifests = keep_manifests
        self.only_told = dry_run

    def run_step(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - Airflow's
        """Tell what is to be done, and do it."""
        from airflow_provider_blockread.options import parse_age  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, propose_pruning, prune  # noqa: PLC0415

        env = self.environment()
        request = PruneRequest(
            older_than=parse_age(self.older_than),
            keep=self.keep,
            feed=self.feed,
            keep_manifests=self.keep_manifests,
        )
        intent = propose_pruning(env, request)
        intent.report(env.observer)
        return intent.to_json() if self.only_told else prune(env, request).to_json()
