"""What can be done with a window now, and what each would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_blockread.errors import printable, shell_word
from airflow_provider_blockread.ledger.model import Withdrawal
from airflow_provider_blockread.ledger.overview.window import NamedFile, WindowDetail
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.pages.display.commands import clear_command, run_of
from airflow_provider_blockread.pages.display.proofs import is_being_scanned

_GOES_ON = {
    "planning": "The plan lists the source and freezes the files that the window will read.",
    "waiting": "No task is working on it now; the next task of its run continues.",
    "reading": "Spark reads the groups; then the window is proven and published.",
    "proving": "What was read is compared with the plan; nothing is published before they agree.",
    "publishing": "It is proven, and its output is being published.",
}
#: Actions that read a window again.
READ_AGAIN = ("rebuild", "reprocess", "verify")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAction:
    """Something that can be done now: its effect, the command for it, and the action of a page for it."""

    title: str
    effect: str
    command: str = ""
    action: str = ""  # the action's name; empty if no page does it
    path: str = ""  # of the file that it is about, as a page shows it


def next_actions(
    row: WindowRow, detail: WindowDetail, files: Sequence[NamedFile], withdrawal: Withdrawal | None, *, goes_back: bool
) -> list[NextAction]:
    """Return what can be done with a window now; empty if there is nothing left to do.

    Args:
        row: the window.
        detail: what it publishes.
        files: the files that its error names.
        withdrawal: the withdrawal of a window that was given up.
        goes_back: whether its files may go back to the feed.
    """
    if row.state == "published" and row.shown is not None:
        return _published(row, detail, goes_back=goes_back)
    if row.state in _GOES_ON:
        return [_wait(row), *_given_up(row)]
    return ways_on(row, files) or _withdrawn(row, withdrawal, goes_back=goes_back)


def ways_on(row: WindowRow, files: Sequence[NamedFile]) -> list[NextAction]:
    """Return what helps a window that failed or stalled; empty for any other. Arguments as in `next_actions`."""
    if row.state not in {"failed", "stalled"}:
        return []
    first = _failed(row, files) if row.state == "failed" else [_taken_over(row)]
    return [*first, *_given_up(row)]


def without_run(actions: Sequence[NextAction], command: str) -> list[NextAction]:
    """Return the actions with a note at those whose command clears a run that Airflow does not have."""
    note = " Airflow does not have this run: if it was deleted, only what follows is left."
    return [replace(one, effect=one.effect + note) if one.command == command else one for one in actions]


def _wait(row: WindowRow) -> NextAction:
    effect, command = _GOES_ON[row.state], ""
    if is_being_scanned(row):
        effect = "A scan finds where records begin in files that span groups; its task's log says how far it is."
    elif row.state == "waiting":
        words, command = going_on(row)
        effect = f"{effect} If its run has ended, {words}."
    return NextAction(title="Wait", effect=effect, command=command)


def going_on(row: WindowRow) -> tuple[str, str]:
    """Return what makes the window's work continue, in words and, if one is known, as a command."""
    run = run_of(row)
    return ("clear the run from its plan on", clear_command(run)) if run else ("repeat the command", "")


def is_left_out(files: Sequence[NamedFile]) -> bool:
    """Return whether each of the files on which a window failed is left out of it by now; there may be none."""
    return bool(files) and all(one.left_out for one in files)


def _failed(row: WindowRow, files: Sequence[NamedFile]) -> list[NextAction]:
    words, command = going_on(row)
    if is_left_out(files):
        out = (
            "The file that it failed on is left out" if len(files) == 1 else "The files that it failed on are left out"
        )
        return [NextAction(title="Read the rest", effect=f"{out}: {words}.", command=command)]
    effect = f"Correct the file or the options, then {words}; what was read is kept."
    name = shell_word(row.window.id)
    leave = [
        NextAction(
            title="Leave a file out",
            effect="Recorded with your name and reason; the rest of the window is read.",
            command=f"blockread windows exclude {name} {shell_word(path)} --reason ...",
            action="exclude",
            path=printable(path),
        )
        for path in [one.path for one in files if not one.left_out][:1]
    ]
    return [NextAction(title="Fix the cause and read on", effect=effect, command=command), *leave]


def _taken_over(row: WindowRow) -> NextAction:
    words, command = going_on(row)
    effect = f"{words[0].upper()}{words[1:]}: the next attempt takes over from the one that has ended."
    return NextAction(title="Take over", effect=effect, command=command)


def _given_up(row: WindowRow) -> list[NextAction]:
    """Return how to end an unfinished window; empty while it is being planned or published."""
    if row.generation is None or row.state == "publishing":
        return []
    name = shell_word(row.window.id)
    if row.generation.state == "publishing":  # half of the output may be there
        effect = "Remove what is published; the source files return to the feed or are not read again, as you choose."
        undo = f"blockread windows undo {name} --files pending"
        return [NextAction(title="Remove its output", effect=effect, command=undo, action="undo")]
    fate = "what is published stays" if row.shown else "its files return to the feed, and nothing of it is published"
    abandon = f"blockread windows abandon {name}"
    return [NextAction(title="Give it up", effect=f"Stop here: {fate}.", command=abandon, action="abandon")]


def _withdrawn(row: WindowRow, withdrawal: Withdrawal | None, *, goes_back: bool) -> list[NextAction]:
    undo = f"blockread windows undo {shell_word(row.window.id)} --files"
    if withdrawal is not None and withdrawal.finished_at is None:
        effect = f"{withdrawal.who} gave the window up, and the command has not ended."
        return [NextAction(title="Finish it", effect=effect, command=f"{undo} {shell_word(withdrawal.files)}")]
    if withdrawal is not None and withdrawal.files == "excluded" and goes_back:
        effect = "Its files are excluded now; afterwards, a later window of the feed reads them."
        return [NextAction(title="Give its files back", effect=effect, command=f"{undo} pending")]
    return []


def _published(row: WindowRow, detail: WindowDetail, *, goes_back: bool) -> list[NextAction]:
    window, outs = row.window, plural(detail.published.files, "output file")
    name = shell_word(window.id)
    read = f"{plural(window.files - row.excluded, 'file')} ({format_bytes(row.bytes)})"
    fate, files = "are not read again", "excluded"
    if goes_back:
        fate, files = "return to the feed, or are not read again, as you choose", "pending"
    return [
        NextAction(
            title="Rebuild",
            effect=f"Read {read} again and replace {outs}. What is published stays until the new pass is proven.",
            command=f"blockread windows rebuild {name}",
            action="rebuild",
        ),
        NextAction(
            title="Reprocess files",
            effect="Read some of its files again, in their newest versions and with the others of their groups, and"
            " replace their output.",
            command=f"blockread reprocess --window {name} --path ...",
            action="reprocess",
        ),
        NextAction(
            title="Verify",
            effect=f"Read {read} again and prove them; nothing is written.",
            command=f"blockread windows verify {name}",
            action="verify",
        ),
        NextAction(
            title="Remove its output",
            effect=f"Remove {outs}; the source files {fate}.",
            command=f"blockread windows undo {name} --files {files}",
            action="undo",
        ),
    ]
