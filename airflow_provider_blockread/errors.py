"""Every error of this package that reaches a caller, grouped by what a caller can do about it.

    BlockReadError
    ├── PermanentError               a retry cannot help: change the input, an option or the plan
    │   ├── OptionsError             an option is unknown, malformed or contradicts another
    │   ├── SourceError              a source or file is missing or cannot be read
    │   │   ├── FileMissingError     a planned file is gone
    │   │   ├── FileChangedError     a planned file is no longer the version that was planned
    │   │   └── FolderLinkError      a link leads to a folder, whose files would be missed
    │   ├── RecordError              bytes that are not a record of the format
    │   │   └── LookBackError        no record start was found within `max_look_back`
    │   ├── ExchangeError            a manifest, receipt or result file is missing, corrupt or foreign
    │   ├── ProofError               a plan or generation does not cover its window, or its output is not what was read
    │   ├── FunctionError            the user's function raised, or returned something invalid
    │   │   └── RowError             a sink cannot hold one of the rows
    │   ├── PrunedError              what is asked for was pruned
    │   ├── CleanedError             files that must be read again were archived or deleted at the source
    │   ├── WrongLedgerError         the window was planned in another ledger, or after its backup
    │   └── LedgerSchemaError        no ledger is there, or its schema is older or newer than this package
    ├── TransientError               the same call may succeed later
    │   ├── LedgerUnavailableError   the ledger cannot be reached or stays locked
    │   └── SparkJobError            the Spark application failed or left no result
    └── ConflictError                another process was first: a retry reads the new state and continues from there
        ├── OwnedError               a live owner holds the group or the publication
        ├── FencedError              a newer epoch has taken over; this attempt must stop
        ├── PlanConflictError        another planner took the window or its files first
        │   └── PlannerBusyError     another planner is at work in the feed
        └── StateError               the window's state forbids it: first do what the message says, then retry
            └── CompleteError        the generation is published or verified, and is not read again

Each message says what failed, where (feed, file, block, byte offset) and what to do. Names in it come from outside, so
a message is one line without control characters: `printable` replaces them, here and wherever text reaches a terminal
or a log. Errors can be pickled, since they cross the borders of Spark's processes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

# Characters that move the cursor, end a line, hide or reorder text, and the marks with which Airflow folds log lines.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]|:(?=:(?:end)?group::)"
)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 2**8 else f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"


def printable(text: str, escaped: Callable[[str], str] = _escaped) -> str:
    r"""Return text as one line for a terminal or log, with `\xNN`, `\uNNNN` or `\UNNNNNNNN` for unprintable characters.

    These are control characters (including newlines and tabs), characters that change the direction of text, lone
    surrogates, and the first colon of `::group::`. All others stay, even backslashes, so a second call changes nothing.
    """
    return _UNPRINTABLE.sub(lambda match: escaped(match[0]), text)


def shell_word(text: str) -> str:
    """Return text as one word of a shell command; characters that do not print are escaped for bash and zsh."""
    if not _UNPRINTABLE.search(text):
        return shlex.quote(text)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{printable(quoted, _as_bytes)}'"


def _as_bytes(character: str) -> str:
    name = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", name))


class BlockReadError(Exception):
    """An error of this package; its message ends with what to do next. `lines` may follow it, such as a log's end."""

    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(printable, (*map(str, self.args[:1]), *self.lines)))


class PermanentError(BlockReadError):
    """A retry cannot help."""


class OptionsError(PermanentError):
    """An option is unknown, malformed or contradicts another."""


class SourceError(PermanentError):
    """A source or file is missing or cannot be read; `path` names the file, if it is a single one."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.path = path


class FileMissingError(SourceError):
    """A planned file is gone."""


class FileChangedError(SourceError):
    """A planned file is no longer the version that was planned."""


class FolderLinkError(SourceError):
    """A link leads to a folder, whose files would be missed."""


class RecordError(PermanentError):
    """Bytes that are not a record of the format."""


class LookBackError(RecordError):
    """No record start was found within `max_look_back` bytes before an offset."""


class ExchangeError(PermanentError):
    """A manifest, receipt or result file is missing, corrupt or belongs to another window."""


class ProofError(PermanentError):
    """A plan or generation does not cover its window, or its output is not what was read."""


class FunctionError(PermanentError):
    """The user's function raised, or returned something invalid."""


class RowError(FunctionError):
    """A sink cannot hold one of the rows; `row` is its index in the batch, from 0."""

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message, row)
        self.row = row


class PrunedError(PermanentError):
    """What is asked for was pruned."""


class CleanedError(PermanentError):
    """Files that must be read again were archived or deleted at the source."""


class WrongLedgerError(PermanentError):
    """The window was planned in another ledger, or in this one after the backup from which it was restored."""


class LedgerSchemaError(PermanentError):
    """No ledger is there, or its schema is older or newer than this package."""


class TransientError(BlockReadError):
    """The same call may succeed later."""


class LedgerUnavailableError(TransientError):
    """The ledger cannot be reached or stays locked."""


class SparkJobError(TransientError):
    """The Spark application failed or left no result."""


class ConflictError(BlockReadError):
    """Another process was first: a retry reads the new state and continues from there."""


class OwnedError(ConflictError):
    """A live owner holds the group or the publication."""


class FencedError(ConflictError):
    """A newer epoch has taken over; this attempt must stop."""


class PlanConflictError(ConflictError):
    """Another planner took the window or its files first."""


class PlannerBusyError(PlanConflictError):
    """Another planner is at work in the feed; the next may begin when it is done."""


class StateError(ConflictError):
    """The window's state forbids it: a retry fails again until what the message says has been done."""


class CompleteError(StateError):
    """The generation is published or verified, and is not read again."""


#: Errors with which a retry of the same call would end again.
FINAL_ERRORS = (PermanentError, StateError)


def error_class(name: str) -> type[BlockReadError]:
    """Return the error class of that name, or the base class; for errors that crossed a process border as text."""
    found = globals().get(name)
    return found if isinstance(found, type) and issubclass(found, BlockReadError) else BlockReadError


def to_fields(error: BlockReadError) -> dict[str, str]:
    """Return an error as JSON values, with which it crosses a process border."""
    return {"error": type(error).__name__, "message": str(error)}


def from_fields(fields: Mapping[str, str]) -> BlockReadError:
    """Return the error of these JSON values."""
    return error_class(fields["error"])(fields["message"])
