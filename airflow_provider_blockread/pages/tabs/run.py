"""The tab of a run: a card for each of its windows, from planned to published."""

from __future__ import annotations

from starlette.responses import Response

from airflow_provider_blockread.ledger.overview.windows import viewed_groups
from airflow_provider_blockread.pages.display.proofs import MOVING
from airflow_provider_blockread.pages.tabs.cards import window_card
from airflow_provider_blockread.pages.tabs.run_windows import airflow_ids, may_plan, run_windows
from airflow_provider_blockread.pages.visit import Visit


def show(visit: Visit) -> Response:
    """Return the page."""
    return visit.page("tabs/run.html", _values(visit))


def live(visit: Visit) -> Response:
    """Return the cards, as JSON, for a page that already shows them."""
    return visit.live("tabs/cards.html", _values(visit))


def _values(visit: Visit) -> dict[str, object]:
    ids = airflow_ids(visit)
    found, problems = run_windows(visit, ids)
    cards = [window_card(one, viewed_groups(one.env.ledger, one.row)) for one in found]
    return {
        "ids": ids,
        "cards": cards,
        "problems": problems,
        "moving": any(card.found.row.state in MOVING for card in cards) or may_plan(visit, ids),
        "state": " ".join(card.found.row.state for card in cards),
    }
