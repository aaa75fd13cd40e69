"""The pages of an action: its form, what it will do, and what it has done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.overview.windows import window_row
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.pages.actions.guard import Tokens
from airflow_provider_blockread.pages.actions.kinds import ACTIONS, Asked, Proposal
from airflow_provider_blockread.pages.display.commands import with_ledger
from airflow_provider_blockread.pages.display.next_actions import going_on
from airflow_provider_blockread.pages.display.troubles import trouble_of
from airflow_provider_blockread.pages.visit import Visit

_CHANGED, _SEE_OTHER = 409, 303
_ELSE = "What it would do has changed since the page was opened, or the page has expired. This request did nothing."
_ALREADY = "This is done already."


def propose(visit: Visit) -> Response:
    """Return the page that says what the action will do, with a button that confirms it; or first the action's form."""
    asked = _asked(visit, visit.asked)
    done = visit.request.query_params.get("what", "")
    if _tokens(visit).fits(visit.asked("done"), _deed(visit, asked, done)):
        return _page(visit, asked, {"done": done} | _what_next(visit, asked))
    if not all(asked.given.values()):
        return _page(visit, asked, {})
    try:
        return _proposed(visit, asked, asked.action.propose(asked))
    except BlockReadError as error:
        return _impossible(visit, asked, error)


def perform(visit: Visit) -> Response:
    """Do what the visitor has seen, according to the token; if it would now do something else, show that instead.

    What was done is the answer to another address, so that to reload it does not send the form again.
    """
    asked = _asked(visit, lambda name: str(visit.form.get(name, "")).strip())
    action = asked.action

    if not all(asked.given.values()):
        return _page(visit, asked, {"note": _ELSE}, _CHANGED)
    try:
        proposal = action.propose(asked)
        if action.at_once and proposal.intent.is_empty:  # a second click, or the form of an older page
            return _proposed(visit, asked, proposal, note=_ALREADY)
        token = str(visit.form.get("token", ""))
        if proposal.command or not _tokens(visit).fits(token, _facts(visit, asked, proposal)):
            return _proposed(visit, asked, proposal, note=_ELSE, status=_CHANGED)
        action.perform(asked)
    except BlockReadError as error:
        return _impossible(visit, asked, error, _CHANGED)
    done = "; ".join(window.what for window in proposal.intent.windows if window.does)
    seal = _tokens(visit).make(_deed(visit, asked, done))
    address = visit.to.action(visit.ledger, asked.window.id, action.name, {"done": seal, "what": done})
    return RedirectResponse(address, _SEE_OTHER)


def _what_next(visit: Visit, asked: Asked) -> dict[str, str]:
    """Return what is left to do after an action that leaves the rest of the window to its run."""
    row = window_row(visit.env.ledger, asked.window.id) if asked.action.goes_on else None
    if row is None:
        return {}
    words, command = going_on(row)
    return {"why": f"To have the rest of the window read, {words}.", "command_line": command}


def _impossible(visit: Visit, asked: Asked, error: BlockReadError, status: int = 200) -> Response:
    """Return a page that says why the action is not possible now, and what is possible."""
    trouble = trouble_of(str(error), visit.env.ledger.address, asked.window.id)
    return _page(visit, asked, {"trouble": trouble}, status)


def _proposed(visit: Visit, asked: Asked, proposal: Proposal, *, note: str = "", status: int = 200) -> Response:
    can = not (proposal.intent.is_empty or proposal.command)
    token = _tokens(visit).make(_facts(visit, asked, proposal)) if can else ""
    command = with_ledger(proposal.command, visit.env.ledger.address)
    values = {"intent": proposal.intent, "why": proposal.why, "command_line": command, "token": token, "note": note}
    return _page(visit, asked, values, status)


def _asked(visit: Visit, value: Callable[[str], str]) -> Asked:
    """Return the requested action.

    Raises:
        HTTPException: 404 when the action does not exist, 400 when a field's value is not one of its choices.
    """
    named = visit.request.path_params
    if named["action"] not in ACTIONS:
        raise HTTPException(404, f"There is no action of this name: {named['action']}")
    action, window = ACTIONS[named["action"]], get_window(visit.env.ledger, named["window"])
    given = {field.name: value(field.name) for field in action.fields}
    for field in action.fields:
        if field.choices and given[field.name] not in {"", *field.choices}:
            raise HTTPException(400, f"{field.label}: one of {', '.join(field.choices)}")
    who, tasks = visit.visitor.name, visit.site.tasks
    return Asked(action=action, env=visit.env, window=window, given=given, who=who, tasks=tasks)


def _page(visit: Visit, asked: Asked, values: Mapping[str, Any], status: int = 200) -> Response:
    empty = {"intent": None, "why": "", "command_line": "", "token": "", "note": "", "trouble": None, "done": ""}
    shared = {"action": asked.action, "window": asked.window, "given": asked.given, "ledger": visit.ledger}
    return visit.page("actions/action.html", {**empty, **shared, **values}, status)


def _facts(visit: Visit, asked: Asked, proposal: Proposal) -> list[str]:
    """Return the facts for a token: who does what to which window of which ledger, and what the page says about it."""
    fields = [f"{name}={value}" for name, value in sorted(asked.given.items())]
    return [*_who(visit, asked), *fields, *proposal.intent.lines(), *proposal.intent.all_warnings()]


def _deed(visit: Visit, asked: Asked, done: str) -> list[str]:
    """Return what the token of a page is made for that says what was done."""
    return [*_who(visit, asked), "done", done]


def _who(visit: Visit, asked: Asked) -> list[str]:
    return [asked.who, visit.env.ledger.uuid, asked.window.id, asked.action.name]


def _tokens(visit: Visit) -> Tokens:
    return Tokens(visit.site.secret, visit.env.ledger.now())
