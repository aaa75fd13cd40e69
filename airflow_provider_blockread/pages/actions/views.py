"""The pages of an action: its form, what it will do, and what it has done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.pages.actions.guard import Tokens
from airflow_provider_blockread.pages.actions.kinds import ACTIONS, Action, Asked, Proposal
from airflow_provider_blockread.pages.display.commands import with_ledger
from airflow_provider_blockread.pages.display.troubles import trouble_of
from airflow_provider_blockread.pages.visit import Visit

_CHANGED = 409
_ELSE = "What it would do has changed since the page was opened, or that was long ago. Nothing was done."


def propose(visit: Visit) -> Response:
    """Return the page that says what the action will do, with a button that confirms it; or first the action's form."""
    action = _action(visit)
    asked = _asked(visit, action, visit.asked)
    if not all(asked.given.values()):
        return _page(visit, action, asked, {})
    try:
        return _proposed(visit, action, asked, action.propose(asked))
    except BlockReadError as error:
        return _impossible(visit, action, asked, error)


def perform(visit: Visit) -> Response:
    """Do what the visitor has seen, according to the token; if it would now do something else, show that instead."""
    action = _action(visit)
    asked = _asked(visit, action, lambda name: str(visit.form.get(name, "")).strip())

    if not all(asked.given.values()):
        return _page(visit, action, asked, {"note": _ELSE}, _CHANGED)
    try:
        proposal = action.propose(asked)
        token = str(visit.form.get("token", ""))
        if proposal.command or not _tokens(visit).fits(token, _facts(visit, action, asked, proposal)):
            return _proposed(visit, action, asked, proposal, note=_ELSE)
        action.perform(asked)
    except BlockReadError as error:
        return _impossible(visit, action, asked, error, _CHANGED)
    return _page(visit, action, asked, {"done": proposal.intent.lines()})


def _impossible(visit: Visit, action: Action, asked: Asked, error: BlockReadError, status: int = 200) -> Response:
    """Return a page that says why the action is not possible now, and what is possible."""
    return _page(visit, action, asked, {"trouble": trouble_of(str(error), visit.env.ledger.name)}, status)


def _proposed(visit: Visit, action: Action, asked: Asked, proposal: Proposal, *, note: str = "") -> Response:
    can = not (proposal.intent.is_empty or proposal.command)
    token = _tokens(visit).make(_facts(visit, action, asked, proposal)) if can else ""
    command = with_ledger(proposal.command, visit.env.ledger.name) if proposal.command else ""
    values = {"intent": proposal.intent, "why": proposal.why, "command_line": command, "token": token, "note": note}
    return _page(visit, action, asked, values, _CHANGED if note else 200)


def _action(visit: Visit) -> Action:
    """Return the action that the path names.

    Raises:
        HTTPException: 404 when the action does not exist.
    """
    name = visit.request.path_params["action"]
    if name not in ACTIONS:
        raise HTTPException(404, f"There is no action of this name: {name}")
    return ACTIONS[name]


def _asked(visit: Visit, action: Action, value: Callable[[str], str]) -> Asked:
    """Return the requested action.

    Raises:
        HTTPException: 400 when a field's value is not one of its choices.
    """
    window = get_window(visit.env.ledger, visit.request.path_params["window"])
    given = {field.name: value(field.name) for field in action.fields}
    for field in action.fields:
        if field.choices and given[field.name] not in {"", *field.choices}:
            raise HTTPException(400, f"{field.label}: one of {', '.join(field.choices)}")
    return Asked(env=visit.env, window=window, given=given, who=visit.visitor.name, tasks=visit.site.tasks)


def _page(visit: Visit, action: Action, asked: Asked, values: Mapping[str, Any], status: int = 200) -> Response:
    empty = {"intent": None, "why": "", "command_line": "", "token": "", "note": "", "trouble": None, "done": None}
    shared = {"action": action, "window": asked.window, "given": asked.given, "ledger": visit.ledger}
    return visit.page("actions/action.html", {**empty, **shared, **values}, status)


def _facts(visit: Visit, action: Action, asked: Asked, proposal: Proposal) -> list[str]:
    """Return the facts for a token: who does what to which window of which ledger, and what the page says about it."""
    fields = [f"{name}={value}" for name, value in sorted(asked.given.items())]
    who = [asked.who, visit.env.ledger.uuid, asked.window.id, action.name]
    return [*who, *fields, *proposal.intent.lines(), *proposal.intent.all_warnings()]


def _tokens(visit: Visit) -> Tokens:
    return Tokens(visit.site.secret, visit.env.ledger.now())
