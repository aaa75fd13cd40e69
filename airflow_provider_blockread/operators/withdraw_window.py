"""Withdraw a window: return its files to the feed, or remove its published output."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator, owner_of, require_choice
from airflow_provider_blockread.options.upkeep import WITHDRAWN_FILES

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.ledger.model import Window
    from airflow_provider_blockread.steps import Environment
    from airflow_provider_blockread.steps.intent import Intent
    from airflow_provider_blockread.steps.upkeep.withdrawing import Withdrawn

    Calls = tuple[Callable[[Environment, Window], Intent], Callable[..., Withdrawn]]


class _WithdrawOperator(StepOperator):
    """What both operators share: they find the window by id or key, and log what they will do."""

    template_fields = (*StepOperator.template_fields, "window", "feed")
    ui_color = "#f4d9db"

    def __init__(
        self,
        *,
        window: str,
        feed: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window = window
        self.feed = feed

    def run_step(self, context: Context) -> dict[str, Any]:
        """Log what will be done, do it, and return how many files were released and removed."""
        from airflow_provider_blockread.ledger.windows.queries import get_window  # noqa: PLC0415 - not at every DAG parse

        env = self.environment()
        window = get_window(env.ledger, self.window, self.feed)
        propose, withdraw = self.calls()
        propose(env, window).report(env.observer)
        return withdraw(env, window, who=owner_of(context)).to_json()

    @abstractmethod
    def calls(self) -> Calls:
        """Return what says what will be done, and what does it."""


class AbandonWindowOperator(_WithdrawOperator):
    """Returns an unpublished window's files to its feed, for a later window; running groups are fenced.

    For a published window, it abandons a rebuild that has begun; to remove such a window, use `UndoWindowOperator`. A
    retry continues where the last try stopped.

    :param window: the window's id or key, a template.
    :param feed: its feed, a template; needed if several feeds have a window with this key.
    """

    def calls(self) -> Calls:
        """Return what says what will be done, and what does it."""
        from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning  # noqa: PLC0415

        return propose_abandoning, abandon


class UndoWindowOperator(_WithdrawOperator):
    """Removes the published output of a window, file by file, and abandons the window.

    A retry continues where the last try stopped; files change their state only after the output is removed.

    :param window: the window's id or key, a template.
    :param feed: its feed, a template; needed if several feeds have a window with this key.
    :param files: the new state of its files: `excluded` (the default: no later window reads them), or `pending`.
    """

    template_fields = (*_WithdrawOperator.template_fields, "files")

    def __init__(self, *, files: str | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(**kwargs)
        require_choice(self.task_id, "files", files, WITHDRAWN_FILES)
        self.files = files

    def calls(self) -> Calls:
        """Return what says what will be done, and what does it."""
        from airflow_provider_blockread.steps.upkeep.withdrawing import propose_undoing, undo  # noqa: PLC0415

        return partial(propose_undoing, files=self.files), partial(undo, files=self.files)
