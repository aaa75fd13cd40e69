"""Clean the source of what is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator, owner_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.steps.upkeep.cleaning import CleanRequest


class CleanSourceOperator(StepOperator):
    """Archives, deletes or tags files at the source, and returns how many, and how many it left alone and why.

    Only files whose windows are all published for longer than `grace`, in every feed of the ledger, and that have not
    changed since they were read. Each is recorded before it is touched; repeated after any crash it goes on. Its log
    says first what it will do.

    :param source: the feed's files; nothing outside of it is touched.
    :param feed: the feed, a template.
    :param action: `archive`, `delete` or `tag` (where the store has tags), a template.
    :param archive: of `archive`: the folder, in the store of the source and outside of its own listing; a template.
    :param grace: only files published so long ago: seconds, or text such as `7d`; a template.
    :param tags: of `tag`: names and values.
    :param dry_run: only say what would be done, and return that.
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
        self.feed = feed
        self.action = action
        self.archive = archive
        self.grace = grace
        self.tags = tags
        self.only_told = dry_run

    def run_step(self, context: Context) -> dict[str, Any]:
        """Tell what is to be done, and do it."""
        from airflow_provider_blockread.steps.upkeep.cleaning import clean, propose_cleaning  # noqa: PLC0415

        env = self.environment()
        request = self.request()
        intent = propose_cleaning(env, request)
        intent.report(env.observer)
        return intent.to_json() if self.only_told else clean(env, request, who=owner_of(context)).to_json()

    def request(self) -> CleanRequest:
        """Return what is to be cleaned.

        Raises:
            OptionsError: when something is missing or does not fit.
        """
        from airflow_provider_blockread.errors import OptionsError  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.options import parse_age  # noqa: PLC0415
        from airflow_provider_blockread.steps.upkeep.cleaning import CleanRequest  # noqa: PLC0415

        if self.source is None:
            msg = f"feed {self.feed}: name the source, since nothing outside of it is cleaned"
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
