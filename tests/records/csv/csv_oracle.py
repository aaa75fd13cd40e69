"""Csv records to values by Python's `csv` and separate conversions, without package code but the options."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from airflow_provider_blockread.options import Csv


def quoted_fields(row: str, option: Csv) -> list[bool]:
    """Return which fields of a row begin with a quote, by Python's automaton; the last one: a quote is open."""
    quoted, state = [False], "start"
    for char in row:
        if state in {"escape", "quoted escape"}:
            state = "plain" if state == "escape" else "quoted"
        elif char == option.escape and state in {"start", "plain", "quoted"}:
            state = "quoted escape" if state == "quoted" else "escape"
        elif char == option.quote and state in {"start", "quoted", "closed"}:
            quoted[-1] = quoted[-1] or state == "start"
            state = "closed" if state == "quoted" else "quoted"
        elif state != "quoted" and char == option.delimiter:
            quoted.append(False)
            state = "start"
        elif state != "quoted":
            state = "plain"
    return [*quoted, state in {"quoted", "quoted escape"}]


def python_fields(row: str, option: Csv) -> list[str]:
    """Return the fields that Python's csv reads."""
    quoting = csv.QUOTE_MINIMAL if option.quote else csv.QUOTE_NONE
    reader = csv.reader(
        io.StringIO(row, newline=""),
        delimiter=str(option.delimiter),
        quotechar=None if option.quote is None else str(option.quote),
        escapechar=None if option.escape is None else str(option.escape),
        quoting=quoting,
    )
    return next(reader, [])


def expected_row(row: str, option: Csv, kinds: list[str]) -> list[Any] | None:
    """Return the values of a row, None for a bad record."""
    fields, (*quoted, is_open) = python_fields(row, option), quoted_fields(row, option)
    fields = fields or ([""] if len(kinds) == 1 else [])
    if is_open or len(fields) != len(kinds) or "\0" in row:
        return None
    try:
        return [
            None if not was_quoted and field in {"", option.null} else typed(field, kind)
            for field, was_quoted, kind in zip(fields, quoted, kinds, strict=True)
        ]
    except (ValueError, ArithmeticError):
        return None


def typed(text: str, kind: str) -> Any:  # noqa: C901, PLR0911 - one case a type
    """Return text in a column's type, or raise ValueError."""
    if kind == "string":
        text.encode()
        return text
    text = text.strip(" \t")
    if not text:
        return None
    if kind == "long" and re.fullmatch(r"-?[0-9]+", text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if kind == "double" and re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text):
        return float(text)
    if kind == "boolean" and text.lower() in {"true", "false", "1", "0"}:
        return text.lower() in {"true", "1"}
    if kind == "timestamp":
        return instant(text)
    if kind == "date" and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return date.fromisoformat(text)
    if kind.startswith("decimal") and re.fullmatch(r"[-+]?[0-9]+(\.[0-9]+)?", text):
        number = Decimal(text)
        if abs(number) < 1000 and number == round(number, 2):
            return round(number, 2)
    raise ValueError(text)


def instant(text: str) -> datetime:
    """Return ISO 8601 text as an instant, in UTC without a zone, truncated to microseconds."""
    match = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?)?", text, re.ASCII
    )
    if match is None or (match[2] or "").startswith("24"):  # which newer Pythons take for the next day
        raise ValueError(text)
    day, clock, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone or 'Z'}")
    return moment.astimezone(UTC) + timedelta(microseconds=int((fraction or ".0")[1:7].ljust(6, "0")))


def written(rows: list[list[str]], option: Csv, newline: str, *, quote_all: bool) -> str:
    """Return rows as text by the dialect's writer, as far as it supports them."""
    out = io.StringIO(newline="")
    writer = csv.writer(
        out,
        delimiter=str(option.delimiter),
        quotechar=None if option.quote is None else str(option.quote),
        escapechar="\\" if option.escape else None,
        quoting=csv.QUOTE_NONE if option.quote is None else csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
        lineterminator=newline,
    )
    for row in rows:
        try:
            writer.writerow(row)
        except csv.Error:
            out.write(newline)
    return out.getvalue()
