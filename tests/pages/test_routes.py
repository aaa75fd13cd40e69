"""Who may see which page: every route is asked by everybody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.routes import ROUTES, Needs, PageRoute
from airflow_provider_blockread.pages.site import Links
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.make import FEED, close_empty_window, freeze_window, open_window, pending, plan, version
from tests.pages.visitors import Person, site_of


@dataclass(frozen=True)
class Named:
    """What the paths of routes name."""

    window: str

    def path(self, page: PageRoute) -> str:
        """Return the route's path for the window and file of this ledger."""
        return page.path.format(ledger="main", feed=1, window=self.window, file=1, action="abandon")


NOBODY = Person(known=False)
STRANGER = Person(sees=set(), reads=set(), changes=set())
VIEWER = Person(reads=set(), changes=set())
USER = Person()

#: What each of them gets, by what a route needs.
ANSWERS = {
    Needs.SIGNED_IN: (401, 200, 200, 200),
    Needs.SEE: (401, 403, 200, 200),
    Needs.READ_RECORDS: (401, 403, 403, 200),
    Needs.CHANGE: (401, 403, 403, 200),
}
MANY = "9" * 5000
OF = ("feeds", "files")
PEOPLE = (NOBODY, STRANGER, VIEWER, USER)


@pytest.mark.parametrize("page", ROUTES, ids=lambda page: f"{page.method} {page.path}")
def test_a_route_opens_for_those_who_may(page: PageRoute, env: Environment) -> None:
    """Nobody, a stranger to the feed, one who may look, and one who may do everything get what the route needs."""
    named = Named(open_window(env.ledger).id)
    clients = [TestClient(make_app(site_of(env, person))) for person in PEOPLE]
    own = {"origin": "http://testserver"}
    statuses = [client.request(page.method, named.path(page), headers=own).status_code for client in clients]

    # 409: an action that was not shown first, or is not possible, as the page says to those who may.
    assert tuple(200 if status == 409 else status for status in statuses) == ANSWERS[page.needs]


@pytest.mark.parametrize(
    ("person", "path", "missing"),
    [
        (STRANGER, "", "You may not see this feed: ask for read access to the runs of each DAG"),
        (VIEWER, "/actions/abandon", "not change it: ask for the right to clear task instances of each DAG"),
        (VIEWER, "/records", "not its records: ask for read access to the task logs of each DAG"),
    ],
)
def test_a_refusal_says_which_right_is_missing(env: Environment, person: Person, path: str, missing: str) -> None:
    """On the DAGs that use the feed; where there is none, it is that to edit the ledger's connection."""
    record_files(env.ledger, FEED, [version("a")], complete=False)
    window = freeze_window(env.ledger, replace(plan("k", files=1), run="load/manual__1"), pending(env.ledger))
    close_empty_window(env.ledger, "by hand", "k", owner="me")
    client = TestClient(make_app(site_of(env, person)))
    text = client.get(f"/ledgers/main/{'files/1' if path == '/records' else f'windows/{window.id}'}{path}").text
    by_hand = TestClient(make_app(site_of(env, STRANGER))).get("/ledgers/main/feeds/2").text

    assert missing in text
    assert "No DAG uses this feed: it is for those who may edit the connection of its ledger, main." in by_hand


def test_a_form_of_another_origin_is_told_so(client: TestClient, env: Environment) -> None:
    """Its refusal is not about rights."""
    answer = client.post(f"/ledgers/main/windows/{open_window(env.ledger).id}/actions/abandon")

    assert answer.status_code == 403
    assert "This was not sent by a page of this server" in answer.text
    assert "Ask for" not in answer.text


def test_who_is_not_signed_in_gets_a_link_that_leads_back(env: Environment) -> None:
    """To the server's login, with the address that was asked for; without a login there is no link."""

    class WithLogin(Links):
        def login(self, page: str) -> str | None:
            return f"/login?next={quote(page, safe='')}"

    site = site_of(env, NOBODY)
    with_login, without = (TestClient(make_app(one)) for one in (replace(site, links=WithLogin()), site))
    path = "/ledgers/main/feeds/1?show=late"

    assert f'<a href="/login?next={quote(path, safe="")}" data-out>Sign in' in with_login.get(path).text
    assert "Sign in</a>" not in without.get(path).text


@pytest.mark.parametrize(
    "path",
    [
        *(f"/ledgers/main/feeds/1?day={day}" for day in ("0026-11-22", "1600-01-01", "1677-12-31", "9999-12-31")),
        *(f"/ledgers/main/feeds/1?day={day}" for day in ("1678-01-01", "2261-12-31")),
        f"/tabs/task?dag_id=a&run_id=b&task_id=c&map_index={MANY}",
        f"/ledgers/main/windows/{{window}}/actions/abandon?done={MANY}.x",
    ],
)
def test_a_value_that_no_ledger_holds_is_taken_for_none(client: TestClient, env: Environment, path: str) -> None:
    """Days that a database cannot hold, and numbers that Python does not even read, are as if they were not there."""
    assert client.get(path.format(window=open_window(env.ledger).id)).status_code == 200


def test_a_token_of_many_digits_is_refused(client: TestClient, env: Environment) -> None:
    """It is none that the page has made."""
    page, own = f"/ledgers/main/windows/{open_window(env.ledger).id}/actions/abandon", {"origin": "http://testserver"}

    assert client.post(page, headers=own, data={"token": f"{MANY}.x"}).status_code == 409


def test_there_is_no_other_route(env: Environment) -> None:
    """The application has the routes of the table and its style sheets, and nothing that a library adds."""
    app = make_app(site_of(env, USER))

    assert [route.path for route in app.routes] == [*(page.path for page in ROUTES), "/static"]


@pytest.mark.parametrize(
    "path",
    [
        *("/ledgers/main/feeds/99", "/ledgers/main/windows/0", "/ledgers/none/health", "/x"),
        *("/ledgers/main/feeds/x", f"/ledgers/main/files/{2**64}", *(f"/ledgers/main/{of}/{MANY}" for of in OF)),
    ],
)
def test_what_is_not_there_is_not_found(client: TestClient, path: str) -> None:
    """A number or name that the ledger does not hold is a page that says so."""
    answer = client.get(path)

    assert answer.status_code == 404
    assert "Nothing here" in answer.text


@pytest.mark.parametrize(
    "path", ["/search?q=a%00b", "/ledgers/main/windows/a%00b", "/ledgers/main/feeds/1?text=%00", "/tabs/run?run_id=%00"]
)
def test_nothing_has_a_name_with_nul(client: TestClient, env: Environment, path: str) -> None:
    """PostgreSQL does not even take the question."""
    open_window(env.ledger)
    answer = client.get(path)

    assert answer.status_code == 404
    assert "the character NUL, which no name in a ledger has" in answer.text


def test_the_docs_have_every_route() -> None:
    """The page about Airflow's web interface lists each route with what it needs, in the same order."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "airflow_ui.md").read_text("utf-8")
    listed = [line for line in text.splitlines() if line.startswith(("| GET |", "| POST |"))]

    assert listed == [f"| {page.method} | `{page.path}` | `{page.needs.name}` |" for page in ROUTES]
