"""The options of the data source, from the text of `spark.read.option(...)`: named as on the command line."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    FORMATS,
    Bounds,
    Csv,
    CustomFormat,
    FileSource,
    FormatOption,
    Policies,
    Splitting,
    parse,
    parse_duration,
)
from airflow_provider_blockread.options.checks import above_zero, one_of
from airflow_provider_blockread.options.values import choices_of
from airflow_provider_blockread.storage.listing.roots import bounds_of

NAME = "blockread"
_SOURCE = ("max_depth", "hidden", "min_size", "max_size", "done_marker", "follow_links")
_PARSED_HERE = ("pattern", "exclude", "min_age", "redirect_host")
_POLICIES = ("on_bad_record", "max_record_bytes", "max_decoded_bytes", "max_expansion", "max_columns")
#: The options of every format; `path` and `paths` are the arguments of `load`.
OPTIONS = ("format", *_PARSED_HERE, *_SOURCE, "block_size", "max_readers", *_POLICIES, "columns", "files", "blocks")
_PATHS = ("path", "paths")
#: Options of Spark's own readers, each with the option that has the same effect here.
_SPARKS = {
    "sep": "delimiter",
    "linesep": "delimiter",
    "nullvalue": "null",
    "mode": "on_bad_record",
    "pathglobfilter": "pattern",
    "maxcolumns": "max_columns",
}
#: Options of Spark's own readers that are not needed here, and what an error says of them.
_NEEDLESS = {
    "multiline": "; leave it out: format csv reads newlines in quotes as they are",
    "inferschema": "; leave it out: format csv infers its columns where it has no schema",
    "recursivefilelookup": "; leave it out: files are found at any depth, unless max_depth says otherwise",
}
_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What `load` reads, and how."""

    source: FileSource
    record_format: FormatOption
    policies: Policies
    block_size: int | str
    max_readers: int | None = None
    columns: tuple[str, ...] = ()  # to return; empty for all of the files' own columns
    files: tuple[str, ...] = ()  # to read; empty for all
    blocks: tuple[range, ...] = ()  # to read; empty for all

    @property
    def bounds(self) -> Bounds:
        """Where links and redirects may lead."""
        return bounds_of(self.source)


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """Return the options of a `load`, whose names are in lower case.

    Raises:
        OptionsError: when an option is unknown (the message names the most similar one), or its text is invalid.
    """
    texts = dict(given)
    name = texts.pop("format", "lines")
    kind = _format_class(name)
    of_format = _format_texts(name, kind, texts)
    _check_known(texts, of_format, kind)
    return ReadOptions(
        source=_source(texts),
        record_format=_with_arguments(parse(kind, of_format), texts),
        policies=_policies(_some(texts, _POLICIES)),
        block_size=parse(Splitting, _some(texts, ("block_size",))).block_size,
        max_readers=_count("max_readers", texts.get("max_readers")),
        columns=_several(texts.get("columns"), ","),
        files=_several(texts.get("files")),
        blocks=tuple(_numbers(part) for part in _several(texts.get("blocks"), ",")),
    )


def _format_class(name: str) -> type[FormatOption]:
    if ":" in name:
        return CustomFormat
    if name not in FORMATS or name == CustomFormat.kind:
        known = ", ".join(sorted(set(FORMATS) - {CustomFormat.kind}))
        near = _near(name, [*FORMATS]) or f"; known are {known}, and 'package.module:Class' for one of your own"
        msg = f"{NAME} has no format {name!r}{near}"
        raise OptionsError(msg)
    return FORMATS[name]


def _format_texts(name: str, kind: type[FormatOption], texts: dict[str, str]) -> dict[str, str]:
    """Remove the options of the format from `texts` and return them."""
    fields = {field.name for field in dataclasses.fields(kind)}
    if kind is CustomFormat:
        return {"path": name} | {key: texts.pop(key) for key in fields - {"path", "options"} if key in texts}
    if "columns" in fields and texts.get("columns") not in choices_of(Csv, "columns"):
        fields.remove("columns")  # which selects columns of the result
    return {key: texts.pop(key) for key in fields if key in texts}


def _with_arguments(option: FormatOption, texts: Mapping[str, str]) -> FormatOption:
    """Return a custom format with the arguments of its class, given as JSON by the option `options`."""
    if not isinstance(option, CustomFormat) or "options" not in texts:
        return option
    try:
        arguments = json.loads(texts["options"])
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        msg = f"{NAME}: options={texts['options']!r} must be a JSON object: the arguments of {option.path}"
        raise OptionsError(msg)
    return dataclasses.replace(option, options=arguments)


def _check_known(texts: Mapping[str, str], of_format: Mapping[str, str], kind: type[FormatOption]) -> None:
    own = [field.name for field in dataclasses.fields(kind) if (kind, field.name) != (CustomFormat, "path")]
    known = sorted({*OPTIONS, *own})
    unknown = sorted(set(texts) - {*known, *_PATHS} - set(of_format))
    if "location" in unknown:
        msg = (
            f"{NAME}: a catalog table cannot be read, since Spark does not pass its options to Python data sources;"
            f" write CREATE TEMPORARY VIEW ... USING {NAME} OPTIONS (path 's3://bucket/folder')"
        )
        raise OptionsError(msg)
    if unknown:
        near = (
            _NEEDLESS.get(unknown[0])
            or _near(unknown[0], known)
            or _near(unknown[0], sorted(_of_formats()))
            or f"; known are {', '.join(known)}"
        )
        msg = f"{NAME} has no option {unknown[0]!r} for format {kind.kind!r}{near}"
        raise OptionsError(msg)


def _of_formats() -> dict[str, list[str]]:
    """Return the names of the formats that have an option, for each option."""
    found: dict[str, list[str]] = {}
    for kind, cls in FORMATS.items():
        for field in dataclasses.fields(cls):
            found.setdefault(field.name, []).append(kind)
    return found


def _near(name: str, known: list[str]) -> str:
    for found in get_close_matches(_SPARKS.get(name, name).lower(), known, n=1):
        formats = _of_formats().get(found, [])
        few = f" of {', '.join(sorted(formats))}" if formats and len(formats) < len(FORMATS) else ""
        return f"; did you mean {found!r}{few}?"
    return ""


def _source(texts: Mapping[str, str]) -> FileSource:
    paths = tuple(json.loads(texts["paths"])) if "paths" in texts else (texts["path"],) if "path" in texts else ()
    if not paths:
        msg = f'{NAME} reads nothing without a path; write spark.read.format("{NAME}").load("s3://bucket/folder")'
        raise OptionsError(msg)
    return dataclasses.replace(
        parse(FileSource, {"uris": paths[0]} | _some(texts, _SOURCE)),
        uris=paths,
        pattern=_several(texts.get("pattern")) or "**",
        exclude=_several(texts.get("exclude")),
        redirect_hosts=_several(texts.get("redirect_host"), ","),
        min_age=parse_duration(texts["min_age"]) if "min_age" in texts else 0.0,
    )


def _some(texts: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: texts[name] for name in names if name in texts}


def _policies(texts: Mapping[str, str]) -> Policies:
    if texts.get("on_bad_record") == "quarantine":
        msg = (
            f"{NAME}: on_bad_record='quarantine' needs a work area, which only windows have; set 'drop' to leave bad"
            " records out, or 'fail'"
        )
        raise OptionsError(msg)
    one_of(NAME, "on_bad_record", texts.get("on_bad_record", "fail"), ("fail", "drop"))
    return parse(Policies, texts)


def _count(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    number = int(text) if text.isdecimal() else text
    above_zero(NAME, name, number)
    return int(number)


def _several(text: str | None, separator: str | None = None) -> tuple[str, ...]:
    """Return the values of an option that takes several, from a JSON array, or from text split at the separator."""
    if text is None or not text.strip():
        return ()
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return tuple(values)
    return (text,) if separator is None else tuple(part.strip() for part in text.split(separator))


def _numbers(text: str) -> range:
    match = _NUMBERS.fullmatch(text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        msg = f"{NAME}: blocks={text!r} must name blocks by their numbers, as in 0-3,7"
        raise OptionsError(msg)
    return range(int(match[1]), int(match[2] or match[1]) + 1)
