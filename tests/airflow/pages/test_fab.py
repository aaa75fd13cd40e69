"""Who may do what with the pages under Airflow's FAB auth manager: its own roles, and roles made for one DAG."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.pages.routes import ROUTES, Needs, PageRoute
from tests.airflow.pages.asking import FEEDS, MAY, address, status

pytestmark = pytest.mark.airflow

_READ, _EDIT, _LOGS = "can_read", "can_edit", "Task Logs"

#: Users and the role of each; the last four roles are made by `_own_roles`.
PEOPLE = {
    "administrator": "Admin",
    "operator": "Op",
    "user": "User",
    "viewer": "Viewer",
    "public": "Public",
    "user of alpha": "Alpha",
    "user of alpha without logs": "Alpha without logs",
    "user of beta": "Beta",
    "user without logs": "User without logs",
}


def _may(needs: Needs, feed: str) -> set[str]:
    """Return who may: as under the simple auth manager, with operators as administrators."""
    if needs is Needs.SIGNED_IN:
        return set(PEOPLE)
    found = MAY[needs, feed] | {"operator"}
    of_alpha = "user of alpha" in found or (needs is Needs.SEE and feed == "of alpha")
    return found | {"user of alpha without logs"} if of_alpha and needs is not Needs.READ_RECORDS else found


@pytest.fixture(scope="module")
def auth_manager() -> str:
    """Flask-AppBuilder's."""
    return "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"


@pytest.fixture(scope="module")
def browsers(airflow_app: Any) -> dict[str, TestClient]:
    """A browser for each of the people, and one for nobody."""
    from airflow.api_fastapi.app import get_auth_manager

    manager: Any = get_auth_manager()
    found = {"nobody": TestClient(airflow_app, follow_redirects=False)}
    with manager.flask_app.app_context():
        security = manager.security_manager
        _own_roles(security)
        for name, role in PEOPLE.items():
            login = name.replace(" ", "_")
            user = security.add_user(
                login, login, login, f"{login}@example.org", security.find_role(role), "a password"
            )
            found[name] = TestClient(airflow_app, follow_redirects=False)
            found[name].cookies.set("_token", manager.generate_jwt(user))
    return found


def _own_roles(security: Any) -> None:
    """Make a role for each DAG, and roles without task logs."""
    both = [(may, name) for may in (_READ, _EDIT) for name in ("DAG Runs", "Task Instances")]
    alpha, beta = ([*both, (_READ, _LOGS), (_READ, f"DAG:{dag}"), (_EDIT, f"DAG:{dag}")] for dag in ("alpha", "beta"))
    user = [(one.action.name, one.resource.name) for one in security.find_role("User").permissions]
    roles = {"Alpha": alpha, "Beta": beta}
    roles |= {
        f"{name} without logs": [one for one in of if one[1] != _LOGS]
        for name, of in (("Alpha", alpha), ("User", user))
    }
    security.bulk_sync_roles([{"role": name, "perms": perms} for name, perms in roles.items()])


@pytest.mark.parametrize("page", ROUTES, ids=lambda page: f"{page.method} {page.path}")
@pytest.mark.parametrize("feed", FEEDS)
def test_a_route_opens_for_those_who_may(
    page: PageRoute, feed: str, browsers: dict[str, TestClient], ledger: Ledger
) -> None:
    """Nobody is asked to sign in (401), those who may not are refused (403), and no one else is."""
    path = address(page, feed, ledger)
    statuses = {person: status(browser, page, path) for person, browser in browsers.items()}

    assert statuses.pop("nobody") == 401
    assert {person for person, status in statuses.items() if status not in {401, 403}} == _may(page.needs, feed)
    assert {status for person, status in statuses.items() if person not in _may(page.needs, feed)} <= {403}


def test_lists_hold_only_what_a_role_may_see(browsers: dict[str, TestClient]) -> None:
    """Each user's list of feeds is that of the feeds that the user may open."""
    shown: dict[str, set[str]] = {}
    for person, browser in browsers.items():
        text = browser.get("/blockread/").text
        shown[person] = {feed for feed in FEEDS if re.search(rf">{feed}</a>", text)}

    assert shown.pop("nobody") == set()
    assert shown == {person: {feed for feed in FEEDS if person in _may(Needs.SEE, feed)} for person in PEOPLE}
