"""The readers of a window: chosen from its bytes and from the rates of the feed's earlier windows, where asked for."""

from __future__ import annotations

from statistics import median_low

from airflow_provider_blockread.blocks.readers import DEFAULT_RATE, ReaderChoice, ReaderGoal, choose_readers
from airflow_provider_blockread.ledger.windows.rates import reader_rates
from airflow_provider_blockread.steps.model import Environment, PlanRequest

_MINUTE_S = 60.0


def follow_backlog(env: Environment, request: PlanRequest, *, size: int, blocks: int) -> ReaderChoice | None:
    """Return the number of readers for a window of so many bytes and blocks; None where no target asks for a choice."""
    splitting = request.splitting
    if splitting.target_minutes is None:
        return None
    goal = ReaderGoal(
        target_s=splitting.target_minutes * _MINUTE_S, least=splitting.min_readers, most=splitting.max_readers
    )
    rates = reader_rates(env.ledger, request.feed)
    rate = median_low(rates) if rates else DEFAULT_RATE
    return choose_readers(size, blocks, rate=rate, windows=len(rates), goal=goal)
