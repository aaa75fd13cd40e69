"""Clean up published files at the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.base import StepOperator, owner_of, require_choice, require_valid
from airflow_provider_blockread.options import parse_age
from airflow_provider_blockread.options.checks import true_or_false
from airflow_provider_blockread.options.upkeep import CLEANING_ACTIONS

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest


class CleanSourceOperator(StepOperator):
    """Archives, deletes or tags files at the source; returns their number, and how many it left alone and why.

    It takes only files whose windows have all been published for longer than `grace`, in every feed of the ledger, and
    that have not changed since they were read. Each is recorded before it is changed, so that a retry continues after
    any crash. Before it changes anything, it logs what it will do.

    :param source: the feed's files; what it would not take, by patterns, sizes, age or done-marker, is left alone.
    :param feed: the feed, a template.
    :param action: `archive`, `delete` or `tag` (where the store has tags), a template.
    :param archive: for `archive`: the target folder, in the source's store but outside of its listing; a template.
    :param grace: only files published at least this long ago: seconds, or text such as `7d`; a template.
    :param tags: for `tag`: the tags' names and values.
    :param dry_run: only log and return what would be done.
    """

    template_fields = (*StepOperator.template_fields, "feed", "action", "archive", "grace", "tags")
    ui_color = "#e3e3e3"

    def __init__(
        self,
        *,
        feed: str,
        action: str,
        archive: str | None = None,
        grace: float | str = "7d",
        tags: Mapping[str, str] | None = None,
        dry_run: bool = False,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        require_choice(self.task_id, "action", action, CLEANING_ACTIONS)
        require_valid(self.task_id, "grace", grace, parse_age)
        true_or_false(self.task_id, "dry_run", dry_run)
        self.feed = feed
        self.action = action
        self.archive = archive
        self.grace = grace
        self.tags = tags
        self.only_proposes = dry_run

    def run_step(self, context: Context) -> dict[str, Any]:
        """Log what will be done, do it, and return the counts."""
        from airflow_provider_blockread.steps.upkeep.cleaning import clean, propose_cleaning  # noqa: PLC0415

        env = self.environment()
        request = self.request()
        intent = propose_cleaning(env, request)
        intent.report(env.observer)
        return intent.to_json() if self.only_proposes else clean(env, request, who=owner_of(context)).to_json()

    def request(self) -> CleanRequest:
        """Return what to clean.

        Raises:
            OptionsError: when an option is missing or invalid.
        """
        from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest  # noqa: PLC0415 - not at every DAG parse

        if self.source is None:
            msg = f"feed {self.feed}: give the source; only its files are cleaned"
            raise OptionsError(msg)
        given = {} if self.tags is None else {"tags": self.tags}
        return CleanRequest(
            feed=self.feed,
            source=self.source,
            action=self.action,
            archive=self.archive,
            grace=parse_age(self.grace),
            **given,
        )
