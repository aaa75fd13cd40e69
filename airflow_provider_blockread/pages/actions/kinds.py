"""The actions on a window: their fields, what each will do, and how it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_blockread.errors import OptionsError, shell_word
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.overview.window import files_called
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.options.upkeep import FILE_STATUSES, WITHDRAWN_FILES
from airflow_provider_blockread.pages.site import Again, Tasks, task_of
from airflow_provider_blockread.steps.excluding import exclude, propose_excluding
from airflow_provider_blockread.steps.intent import Intent
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep.handing_over import Reading, hand_over, propose_reading
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, propose_undoing, undo

#: What a form says for the value of an option.
_LABELS = {
    "done": "any result",
    "bad": "bad records",
    "quarantined": "bad records in quarantine",
    "pending": "return to the feed, for a later window",
    "excluded": "are excluded: no later window reads them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What an action will do; with a `command`, it can only be done from a shell, for the reason `why`."""

    intent: Intent
    why: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a person enters for an action: one of `choices`, which maps values to labels, or a text if it is empty."""

    name: str
    label: str
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action on a window.

    If the window's state does not allow the action, both functions raise an error of this package that says what does.
    """

    name: str
    title: str
    what: str  # its purpose, in a sentence
    propose: Callable[[Asked], Proposal]
    perform: Callable[[Asked], object]
    fields: tuple[Field, ...] = ()
    goes_on: bool = False  # whether the window's run is to be cleared after it
    at_once: bool = True  # False where tasks do it: then nothing to do does not mean that it was done


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A requested action: on which window, with the values of its fields by name."""

    action: Action
    env: Environment
    window: Window
    given: Mapping[str, str]
    who: str
    tasks: Tasks


def _path(asked: Asked) -> str:
    """Return the path of the window's file that a person names, by its path or the end of it.

    Raises:
        OptionsError: when several files have this name.
    """
    name = asked.given["path"]
    found = files_called(asked.env.ledger, asked.window.id, name)
    if len(found) > 1:
        held = f"window {asked.window.id} holds {len(found):,} files named {name}"
        msg = f"{held}; name one by its path, such as {found[0]}"
        raise OptionsError(msg)
    # A name of none stays as it is: it is not one of the web server's own folder.
    is_whole = "://" in name or name.startswith("/")
    return found[0] if found else asked.env.stores.canonical(name) if is_whole else name


def _reading(asked: Asked) -> Reading:
    given, action = asked.given, asked.action.name
    files = FileChoice(path=given["path"], status=given["status"]) if action == "reprocess" else None
    return Reading(action=action, files=files)


def _again(asked: Asked) -> Again | None:
    """Return the tasks that can read the window again, or None if no Airflow run has planned it."""
    run = next((one.run for one in list_generations(asked.env.ledger, asked.window.id) if one.run), None)
    task = task_of(asked.window.owner)
    if task is None or task.of_run != run:
        return None
    return Again(window=asked.window.id, action=asked.action.name, task=task)


def _propose_reading(asked: Asked) -> Proposal:
    intent, again = propose_reading(asked.env, asked.window, _reading(asked)), _again(asked)
    why = "No run of Airflow has planned this window" if again is None else asked.tasks.refusal(again)
    if why and not intent.is_empty:
        return Proposal(intent=intent, why=f"{why}. In a shell where Spark is available, run:", command=_command(asked))
    return Proposal(intent=intent)


def _let_read(asked: Asked) -> None:
    again, reading = _again(asked), _reading(asked)
    if again is None:  # then only a command is proposed
        return

    def begin(clear_number: int) -> object:
        return hand_over(
            asked.env, asked.window, reading, who=asked.who, run=again.task.of_run, clear_number=clear_number
        )

    asked.tasks.clear(again, asked.who, begin)


def _command(asked: Asked) -> str:
    given, window = asked.given, asked.window.id
    if asked.action.name == "reprocess":
        return f"blockread reprocess --window {window} --path {shell_word(given['path'])} --status {given['status']}"
    return f"blockread windows {asked.action.name} {window}"


def _read_again(name: str, title: str, what: str, *fields: Field) -> Action:
    """Return an action that reads the window again with the tasks of the run that planned it."""
    return Action(
        name=name, title=title, what=what, propose=_propose_reading, perform=_let_read, fields=fields, at_once=False
    )


def _labelled(values: Iterable[str]) -> dict[str, str]:
    return {value: _LABELS[value] for value in values}


ACTIONS = {
    action.name: action
    for action in (
        _read_again("rebuild", "Rebuild", "Read all files again, and replace the output once the new pass is proven"),
        _read_again(
            "reprocess",
            "Reprocess files",
            "Read some files again in their newest versions; the window is published once it is proven as a whole",
            Field(name="path", label="Files (a glob on their paths)"),
            Field(name="status", label="Only those with", choices=_labelled(FILE_STATUSES)),
        ),
        _read_again("verify", "Verify", "Read all files again and prove them; nothing is written"),
        Action(
            name="exclude",
            title="Leave a file out",
            what="The window, or its unfinished rebuild, is read without the file",
            propose=lambda asked: Proposal(
                intent=propose_excluding(asked.env, asked.window, _path(asked), reason=asked.given["reason"])
            ),
            perform=lambda asked: exclude(
                asked.env, asked.window, _path(asked), reason=asked.given["reason"], who=asked.who
            ),
            fields=(Field(name="path", label="Name or path of the file"), Field(name="reason", label="Reason")),
            goes_on=True,
        ),
        Action(
            name="abandon",
            title="Give it up",
            what="The files return to the feed; of a published window, only an unfinished rebuild is given up",
            propose=lambda asked: Proposal(intent=propose_abandoning(asked.env, asked.window)),
            perform=lambda asked: abandon(asked.env, asked.window, who=asked.who),
        ),
        Action(
            name="undo",
            title="Remove its output",
            what="Remove what the window has published, and give the window up",
            propose=lambda asked: Proposal(intent=propose_undoing(asked.env, asked.window, files=asked.given["files"])),
            perform=lambda asked: undo(asked.env, asked.window, files=asked.given["files"], who=asked.who),
            fields=(Field(name="files", label="Source files", choices=_labelled(WITHDRAWN_FILES)),),
        ),
    )
}
