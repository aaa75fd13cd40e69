"""Templates: every value from outside is escaped, and control characters are shown as escapes."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.pages.display import words
from airflow_provider_blockread.pages.display.commands import with_ledger
from airflow_provider_blockread.pages.display.dumps import text_of
from airflow_provider_blockread.pages.display.strips import bars
from airflow_provider_blockread.pages.display.troubles import brief

_FILTERS = (
    *(words.number, words.size, words.duration, words.exact, words.clock, words.at_ns),
    *(words.path, words.state, words.file_state, words.lines, words.begins),
    *(bars, brief, text_of),
)


def make_templates() -> Environment:
    """Return the environment of the pages' templates."""
    made = Environment(
        loader=PackageLoader("airflow_provider_blockread.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {function.__name__: function for function in _FILTERS} | {"ago": words.when}
    made.globals |= {function.__name__: function for function in (plural, words.rate, with_ledger)}
    made.globals["left_out_words"] = words.LEFT_OUT
    return made


def _shown(value: Any) -> Any:  # noqa: ANN401 - whatever a template prints
    """Return what a template prints for a value: a dash for None, and text with unprintable characters escaped.

    A field of a form is sent back as it is, so templates print its value by the filter `e`, which only escapes HTML.
    """
    if value is None:
        return "-"
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
