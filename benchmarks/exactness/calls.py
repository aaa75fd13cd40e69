"""The calls of each reader: expressions as text, evaluated and shown unchanged.

Options are those that each reader's documentation gives for such a file; where it has none, the file is not read. In
an expression, `path` is a glob of the case's files, or one file after the other for readers of single files, and
`block` is the size of a split in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The columns of the table, in order: key to title. Spark and DuckDB are asked twice.
RIVALS: Mapping[str, str] = {
    "spark_split": "Spark, split",
    "spark_whole": "Spark, one task",
    "duckdb_split": "DuckDB, parallel",
    "duckdb_whole": "DuckDB, one thread",
    "pandas": "pandas",
    "dask": "Dask, split",
    "pyarrow": "pyarrow",
}
#: By rival. One that is missing has no options for the case.
Calls = Mapping[str, str]

_NO_FIELDS = "\x01"  # a delimiter that no file contains: each line is one field


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """The CSV options that a case needs."""

    columns: tuple[str, ...] = ("id", "msg")
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    comment: str | None = None
    header: bool = False
    encoding: str | None = None
    newline: str | None = None

    def calls(self) -> Calls:
        """Return the call of each reader."""
        pandas = _arguments(self._pandas())
        return {
            "spark_split": f"spark.read.csv(path, {_arguments(self._spark())})",
            "spark_whole": f"spark.read.csv(path, {_arguments(self._spark() | {'multiLine': True})})",
            "duckdb_split": self._duckdb("parallel = true, buffer_size = $block"),
            "duckdb_whole": self._duckdb("parallel = false"),
            "pandas": f"pd.read_csv(path, {pandas})",
            "dask": f"dd.read_csv(path, blocksize=block, {pandas})",
            "pyarrow": self._pyarrow(),
        }

    def _spark(self) -> dict[str, object]:
        wanted = {
            "schema": None if self.header else ", ".join(f"{name} string" for name in self.columns),
            "sep": self.delimiter,
            "quote": self.quote or "",
            "escape": self.escape or self.quote or "",  # Spark's default is a backslash
            "comment": self.comment,
            "header": self.header or None,
            "encoding": self.encoding and self.encoding.upper().replace("16-", "16"),
            "lineSep": "\n" if self.encoding else None,  # Spark requires it for other encodings
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def _duckdb(self, how: str) -> str:
        wanted = {
            "delim": self.delimiter,
            "quote": self.quote or "",
            "escape": self.escape or self.quote or "",
            "comment": self.comment,
            "encoding": self.encoding and self.encoding.removesuffix("-le"),
        }
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in self.columns)
        known = f"auto_detect = false, columns = {{{columns}}}, header = false"
        head = "all_varchar = true, header = true" if self.header else known
        options = ", ".join(f"{name} = {_sql(value)}" for name, value in wanted.items() if value is not None)
        return f"FROM read_csv($path, {head}, {options}, strict_mode = false, {how})"

    def _pandas(self) -> dict[str, object]:
        wanted: dict[str, object] = {
            "dtype": str,
            "header": 0 if self.header else None,
            "names": None if self.header else list(self.columns),
            "sep": self.delimiter,
            "escapechar": self.escape,
            "comment": self.comment,
            "encoding": self.encoding,
            "lineterminator": self.newline,
            "quoting": None if self.quote else 3,
        }
        kept = {name: value for name, value in wanted.items() if value is not None or name == "header"}
        return kept | {"keep_default_na": False, "skip_blank_lines": False}

    def _pyarrow(self) -> str:
        read: dict[str, object] = {"block_size": _Name("block")}
        if not self.header:
            read["column_names"] = list(self.columns)
        if self.encoding:
            read["encoding"] = self.encoding
        parse: dict[str, object] = {"delimiter": self.delimiter, "quote_char": self.quote or False}
        parse |= {"newlines_in_values": True, "ignore_empty_lines": False}
        if self.escape:
            parse["escape_char"] = self.escape
        types = ", ".join(f"{name!r}: pa.string()" for name in self.columns)
        return (
            ""
            if self.comment
            else (
                f"csv.read_csv(path, csv.ReadOptions({_arguments(read)}), csv.ParseOptions({_arguments(parse)}),"
                f" csv.ConvertOptions(column_types={{{types}}}))"
            )
        )


def text(*, encoding: str | None = None, escape: str | None = None, newline: str | None = None) -> Calls:
    """Return the calls for lines of text: CSV readers get a delimiter that no line contains."""
    csv = Csv(
        columns=("value",), delimiter=_NO_FIELDS, quote=None, escape=escape, encoding=encoding, newline=newline
    ).calls()
    if encoding or escape:
        return csv
    line = "spark.read.text(path)"
    return {**csv, "spark_split": line, "spark_whole": line}


def compressed_text() -> Calls:
    """Return the calls for compressed lines, which Dask reads as one block a file."""
    calls = text()
    return {**calls, "dask": calls["dask"].replace("blocksize=block", "blocksize=None")}


def delimited(delimiter: str) -> Calls:
    """Return the calls for records that end at a longer delimiter, for readers that support one."""
    spark = f"spark.read.text(path, lineSep={delimiter!r})"
    bag = f"db.read_text(path, blocksize=block, linedelimiter={delimiter!r})"
    return {
        "spark_split": spark,
        "spark_whole": spark,
        "dask": f"{bag}.map(lambda record: record.removesuffix({delimiter!r}))",
    }


def json(layout: str) -> Calls:
    """Return the calls for JSON of a layout: "lines", "array" or "values" (a sequence)."""
    spark = "spark.read.json(path, schema='id long, msg string'"
    formats = {"lines": "newline_delimited", "array": "array", "values": "unstructured"}
    duckdb = f"FROM read_json($path, format = '{formats[layout]}', columns = {{'id': 'BIGINT', 'msg': 'VARCHAR'}}"
    calls = {
        "spark_split": f"{spark})",
        "spark_whole": f"{spark}, multiLine=True)" if layout != "lines" else f"{spark})",
        "duckdb_split": f"{duckdb}, maximum_object_size = $block)",
        "duckdb_whole": f"{duckdb})",
    }
    if layout == "lines":
        calls["dask"] = "dd.read_json(path, lines=True, blocksize=block)"
    if layout != "values":
        calls["pandas"] = f"pd.read_json(path, lines={layout == 'lines'})"
    if layout != "array":
        calls["pyarrow"] = (
            "json.read_json(path, json.ReadOptions(block_size=block), json.ParseOptions(newlines_in_values=True,"
            " explicit_schema=pa.schema([('id', pa.int64()), ('msg', pa.string())])))"
        )
    return calls


def json_with_bad_lines() -> Calls:
    """Return the calls for JSON lines with some bad ones, to read the good ones and to report the bad ones."""
    schema = "id long, msg string, bad string"
    spark = (
        f"spark.read.json(path, schema={schema!r}, columnNameOfCorruptRecord='bad').where('bad is null').drop('bad')"
    )
    calls = json("lines")
    ignoring = {
        key: calls[key].removesuffix(")") + ", ignore_errors = true)" for key in ("duckdb_split", "duckdb_whole")
    }
    return {**calls, **ignoring, "spark_split": spark, "spark_whole": spark}


class _Name(str):
    """A name shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _arguments(values: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name}={value.__name__ if isinstance(value, type) else repr(value)}" for name, value in values.items()
    )


def _sql(value: str) -> str:
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return f"chr({ord(value)})"
