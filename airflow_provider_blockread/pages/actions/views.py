"""The pages of an action: what it asks for, what it will do, and what it has done."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.pages.actions.guard import Tokens
from airflow_provider_blockread.pages.actions.kinds import ACTIONS, Action, Given
from airflow_provider_blockread.pages.tabs.troubles import trouble_of
from airflow_provider_blockread.pages.visit import Visit
from airflow_provider_blockread.steps.intent import Intent

_CHANGED = 409


def propose(visit: Visit) -> Response:
    """Return what the action will do, with a button that confirms it; or the form of what it asks for."""
    action, window = _asked(visit)
    given = {field.name: visit.asked(field.name) for field in action.fields}
    if not all(given.values()):
        return visit.page("actions/action.html", _values(visit, action, window, given))
    return _proposal(visit, action, window, given)


def perform(visit: Visit) -> Response:
    """Do what the token says that the visitor has seen, or show what it would do now, if that is something else."""
    action, window = _asked(visit)
    given = {field.name: str(visit.form.get(field.name, "")).strip() for field in action.fields}
    values = _values(visit, action, window, given)
    try:
        intent = action.propose(visit.env, window, given)
        if not _tokens(visit).fits(str(visit.form.get("token", "")), _facts(visit, action, window, given, intent)):
            note = "What it would do has changed since the page was opened, or that was long ago. Nothing was done."
            return _proposal(visit, action, window, given, note=note, status=_CHANGED)
        action.perform(visit.env, window, given, visit.visitor.name)
    except BlockReadError as error:
        trouble = trouble_of(str(error), visit.env.ledger.name)
        return visit.page("actions/action.html", values | {"trouble": trouble}, _CHANGED)
    return visit.page("actions/action.html", values | {"done": intent.lines()})


def _proposal(
    visit: Visit, action: Action, window: Window, given: Given, *, note: str = "", status: int = 200
) -> Response:
    values = _values(visit, action, window, given) | {"note": note}
    try:
        intent = action.propose(visit.env, window, given)
    except BlockReadError as error:
        trouble = trouble_of(str(error), visit.env.ledger.name)
        return visit.page("actions/action.html", values | {"trouble": trouble}, _CHANGED)
    token = "" if intent.is_empty else _tokens(visit).make(_facts(visit, action, window, given, intent))
    return visit.page("actions/action.html", values | {"intent": intent, "token": token}, status)


def _asked(visit: Visit) -> tuple[Action, Window]:
    """Return the action and the window that the path names.

    Raises:
        HTTPException: 404 when there is no such action.
    """
    named = visit.request.path_params
    action = ACTIONS.get(named["action"])
    if action is None:
        raise HTTPException(404, f"There is no action of this name: {named['action']}")
    return action, get_window(visit.env.ledger, named["window"])


def _values(visit: Visit, action: Action, window: Window, given: Given) -> dict[str, object]:
    empty: dict[str, object] = {"intent": None, "token": "", "note": "", "trouble": None, "done": None}
    return {"action": action, "window": window, "given": given, "ledger": visit.ledger} | empty


def _facts(visit: Visit, action: Action, window: Window, given: Given, intent: Intent) -> list[str]:
    """Return what a token is made for: who does what to which window of which ledger, and what the page says of it."""
    fields = [f"{name}={value}" for name, value in sorted(given.items())]
    who = [visit.visitor.name, visit.env.ledger.uuid, window.id, action.name]
    return [*who, *fields, *intent.lines(), *intent.all_warnings()]


def _tokens(visit: Visit) -> Tokens:
    return Tokens(visit.site.secret, visit.env.ledger.now())
