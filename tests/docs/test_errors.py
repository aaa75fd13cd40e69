"""The page of errors has every error, with its meaning and what Airflow does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_blockread import errors
from airflow_provider_blockread.errors import FINAL_ERRORS, BlockReadError, CompleteError

_PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text("utf-8")
_ROWS = {name: cells for name, *cells in re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$", _PAGE, re.MULTILINE)}
_GROUPS = {"BlockReadError", "PermanentError", "TransientError", "ConflictError"}
_ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, BlockReadError) and name not in _GROUPS
}


def test_every_error_has_one_row() -> None:
    """In the order in which they are defined."""
    assert list(_ROWS) == list(_ERRORS)


@pytest.mark.parametrize("name", _ERRORS)
def test_a_row_says_what_the_error_means_and_what_airflow_does(name: str) -> None:
    """The meaning is the first sentence of the docstring, and what Airflow does follows from the class."""
    kind = _ERRORS[name]
    meaning, airflow, advice = _ROWS[name]
    final = "fails at once" if issubclass(kind, FINAL_ERRORS) else "retries"

    assert (kind.__doc__ or "").startswith(meaning.rstrip("."))
    assert airflow == ("skips" if issubclass(kind, CompleteError) else final)
    assert advice
