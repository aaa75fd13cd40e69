"""Give a window up: its files go back to the feed, its published output is taken away."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator, owner_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.ledger.model import Window
    from airflow_provider_blockread.steps import Environment
    from airflow_provider_blockread.steps.intent import Intent
    from airflow_provider_blockread.steps.upkeep.withdrawing import Withdrawn


class _WithdrawOperator(StepOperator):
    """What the two share: the window by id or key, told about before it is given up."""

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
        """Say what will be done, do it, and return how many files moved and how many were removed."""
        from airflow_provider_blockread.ledger.windows.queries import get_window  # noqa: PLC0415 - not at every DAG parse

        env = self.environment()
        window = get_window(env.ledger, self.window, self.feed)
        self.intent(env, window).report(env.observer)
        return self.withdraw(env, window, owner_of(context)).to_json()

    @abstractmethod
    def intent(self, env: Environment, window: Window) -> Intent:
        """Return what will be done."""

    @abstractmethod
    def withdraw(self, env: Environment, window: Window, who: str) -> Withdrawn:
        """Do it."""


class AbandonWindowOperator(_WithdrawOperator):
    """Gives an unpublished window's files back to its feed, to be read by a later window; groups that run are fenced.

    Of a published window it gives up the rebuild that was begun; `UndoWindowOperator` takes such a window away. A retry
    goes on where a try was stopped.

    :param window: the window's id or key, a template.
    :param feed: its feed, a template; needed where several feeds have a window of this key.
    """

    def intent(self, env: Environment, window: Window) -> Intent:
        """Return what will be done."""
        from airflow_provider_blockread.steps.upkeep.withdrawing import propose_abandoning  # noqa: PLC0415

        return propose_abandoning(env, window)

    def withdraw(self, env: Environment, window: Window, who: str) -> Withdrawn:
        """Give the window up."""
        from airflow_provider_blockread.steps.upkeep.withdrawing import abandon  # noqa: PLC0415

        return abandon(env, window, who=who)


class UndoWindowOperator(_WithdrawOperator):
    """Takes the published output of a window away, file by file; the window is abandoned.

    A retry goes on where a try was stopped; files change their state only when nothing is left in the output.

    :param window: the window's id or key, a template.
    :param feed: its feed, a template; needed where several feeds have a window of this key.
    :param files: what its files become: `excluded` (the default: no later window reads them), or `pending`.
    """

    template_fields = (*_WithdrawOperator.template_fields, "files")

    def __init__(self, *, files: str | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(**kwargs)
        self.files = files

    def intent(self, env: Environment, window: Window) -> Intent:
        """Return what will be done."""
        from airflow_provider_blockread.steps.upkeep.withdrawing import propose_undoing  # noqa: PLC0415

        return propose_undoing(env, window, files=self.files)

    def withdraw(self, env: Environment, window: Window, who: str) -> Withdrawn:
        """Take the output away."""
        from airflow_provider_blockread.steps.upkeep.withdrawing import undo  # noqa: PLC0415

        return undo(env, window, files=self.files, who=who)
