"""What a window or a group of it failed on, as far as a visitor may see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_blockread.ledger.overview.window import NamedFile, named_files
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.pages.display.next_actions import is_left_out
from airflow_provider_blockread.pages.display.troubles import Trouble, trouble_of


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in parts, or None without one, and the window's files that it names."""

    trouble: Trouble | None
    files: Sequence[NamedFile]


def failure_of(ledger: Ledger, row: WindowRow, error: str | None, said: str | None) -> Failure:
    """Return what an error of a window is about, without advice once each file that it names is left out.

    Args:
        ledger: the window's ledger.
        row: the window.
        error: why it failed, or a group of it, if it did.
        said: what the visitor may see of the error.
    """
    if error is None:
        return Failure(None, ())
    files = named_files(ledger, row.window.id, error, generation=row.generation.number if row.generation else None)
    if said is None:
        return Failure(None, files)
    trouble = trouble_of(said, ledger.address, row.window.id, [one.path for one in files])
    return Failure(replace(trouble, advice="", commands=()) if is_left_out(files) else trouble, files)
