"""How each route is asked, and who may, under any auth manager."""

from __future__ import annotations

from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.pages.routes import Needs, PageRoute

#: Feeds, with the DAGs whose runs planned their windows.
FEEDS: dict[str, tuple[str, ...]] = {"of alpha": ("alpha",), "shared": ("alpha", "beta"), "by hand": ()}
#: Who may, by what a route needs and whose feed it is about.
MAY = {
    (Needs.SEE, "of alpha"): {"viewer", "user", "user of alpha", "user without logs", "administrator"},
    (Needs.SEE, "shared"): {"viewer", "user", "user without logs", "administrator"},
    (Needs.SEE, "by hand"): {"administrator"},
    (Needs.READ_RECORDS, "of alpha"): {"viewer", "user", "user of alpha", "administrator"},
    (Needs.READ_RECORDS, "shared"): {"viewer", "user", "administrator"},
    (Needs.READ_RECORDS, "by hand"): {"administrator"},
    (Needs.CHANGE, "of alpha"): {"user", "user of alpha", "user without logs", "administrator"},
    (Needs.CHANGE, "shared"): {"user", "user without logs", "administrator"},
    (Needs.CHANGE, "by hand"): {"administrator"},
}


def address(page: PageRoute, feed: str, ledger: Ledger) -> str:
    """Return the path of a route for a feed, its window or its file."""
    number = list(FEEDS).index(feed) + 1
    with ledger.reading() as connection:
        file = connection.exec_driver_sql("SELECT min(id) FROM files WHERE feed_id = ?", (number,)).scalar_one()
    names = {
        "ledger": "blockread_default",
        "window": list_windows(ledger, feed)[0].window.id,
        "file": file,
        "feed": number,
        "action": "abandon",
    }
    return page.path.replace(":int", "").format(**names)


def status(browser: TestClient, page: PageRoute, path: str) -> int:
    """Return how a browser's request of a route is answered."""
    origin = {"origin": "http://testserver"} if page.method != "GET" else {}
    return browser.request(page.method, f"/blockread{path}", headers=origin).status_code
