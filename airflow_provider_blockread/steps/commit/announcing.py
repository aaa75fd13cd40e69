"""Which publications a task must announce, so that readers of the output hear of each at least once."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_blockread.ledger.windows.generations import get_generation, published_generation
from airflow_provider_blockread.options import Sink
from airflow_provider_blockread.steps.commit.committing import commit
from airflow_provider_blockread.steps.model import Environment, Published, WindowRef


def news_of(env: Environment, ref: WindowRef, done: Published, *, run: str, clear_number: int) -> Published | None:
    """Return the publication that a task with this outcome must announce, or None if the output's readers know it.

    A task may die after its publication and before Airflow stores its events. Then its next try announces it or, after
    a clear, whichever task next finds the window published. A try in the same clear of the run that asked for the
    generation announces it in any case: had an earlier one succeeded, there would be no further try.
    """
    if ref.status != "read" or done.status != "published":
        shown = published_generation(env.ledger, ref.window)
        if shown is None or (shown.announced_at and (shown.run, shown.clear_number) != (run, clear_number)):
            return None
        if shown.number != done.generation:  # only a verification of it has just ended
            done = commit(env, replace(ref, generation=shown.number), owner=run)
    return done if done.changes_output else None


def sink_of(env: Environment, news: Published) -> Sink:
    """Return the sink into which a publication went: that of its plan, whatever the task's own is by now."""
    return get_generation(env.ledger, news.window, news.generation).as_options().sink
