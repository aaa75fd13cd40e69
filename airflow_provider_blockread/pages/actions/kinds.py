"""The actions on a window: what each asks for, what it will do, and how it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema.columns import WITHDRAWN_FILES
from airflow_provider_blockread.steps.excluding import exclude, propose_excluding
from airflow_provider_blockread.steps.intent import Intent
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, propose_undoing, undo

Given = Mapping[str, str]
"""The values of an action's fields, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a person says for an action; with `choices` one of these, else a text."""

    name: str
    label: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action on a window.

    Both functions raise an error of this package where the window's state does not allow the action, with what does.
    """

    name: str
    title: str
    what: str  # it is for, in a sentence
    propose: Callable[[Environment, Window, Given], Intent]
    perform: Callable[[Environment, Window, Given, str], object]  # with the name of who does it
    fields: tuple[Field, ...] = ()


def _propose_abandoning(env: Environment, window: Window, _: Given) -> Intent:
    return propose_abandoning(env, window)


def _abandon(env: Environment, window: Window, _: Given, who: str) -> object:
    return abandon(env, window, who=who)


def _propose_undoing(env: Environment, window: Window, given: Given) -> Intent:
    return propose_undoing(env, window, files=given["files"])


def _undo(env: Environment, window: Window, given: Given, who: str) -> object:
    return undo(env, window, files=given["files"], who=who)


def _propose_excluding(env: Environment, window: Window, given: Given) -> Intent:
    return propose_excluding(env, window, env.stores.canonical(given["path"]), reason=given["reason"])


def _exclude(env: Environment, window: Window, given: Given, who: str) -> object:
    return exclude(env, window, env.stores.canonical(given["path"]), reason=given["reason"], who=who)


ACTIONS = {
    action.name: action
    for action in (
        Action(
            name="exclude",
            title="Leave a file out",
            what="of a window that is not published, or of its rebuild",
            propose=_propose_excluding,
            perform=_exclude,
            fields=(Field(name="path", label="Path of the file"), Field(name="reason", label="Reason")),
        ),
        Action(
            name="abandon",
            title="Give it up",
            what="so that its files go back to the feed; of a published window, only its unfinished rebuild",
            propose=_propose_abandoning,
            perform=_abandon,
        ),
        Action(
            name="undo",
            title="Remove its output",
            what="file by file, and give the window up",
            propose=_propose_undoing,
            perform=_undo,
            fields=(Field(name="files", label="Its files are then", choices=tuple(WITHDRAWN_FILES)),),
        ),
    )
}
