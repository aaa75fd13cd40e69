"""Tables and custom sinks: their options, which hold no secrets, as the ledger and job files store them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import import_path, one_of, only_json
from airflow_provider_blockread.options.sinks import AUDIT_COLUMNS, ColumnarSink, Sink
from airflow_provider_blockread.options.values import parse_options

#: The property of a Delta table by which its files have other names of columns than the table.
COLUMN_MAPPING = "delta.columnMapping.mode"
#: Names of secrets; `tokenizer` and `sasl.mechanism` do not match.
_SECRET = re.compile(
    r"token(?![a-z])|credential|secret|passw|passphrase|(?<![a-z])(?:pwd|sas)(?![a-z])|cookie|authorization"
    r"|(?:access|account|api|private|encryption)[-_.]?key|connection[-_.]?string",
    re.IGNORECASE,
)
#: Values that are or contain a secret: a URL, a header, a connection string of a database or store.
_PASSWORD = re.compile(
    r"^[\w.+-]+://[^/@:]*:(?!\d*/)[^@]+@|(?:^|[?&;\s])(?:ssl)?password\s*=|[?&]sig=|(?i:AccountKey|SharedAccessSignature)="
    r"|^(?i:bearer) +\S|^(?i:basic) +[\w+/]{12,}=*$"
)


@dataclass(frozen=True)
class FileTableSink(ColumnarSink):
    """A table of files, which are added and removed in one commit.

    `on_rewritten` decides what a rebuild or undo does if other writers have moved rows of the window into other files,
    as a compaction does: `"fail"`, or `"delete_rows"`, which deletes the rows by the audit column `_window`.
    """

    _: KW_ONLY
    on_rewritten: Literal["fail", "delete_rows"] = "fail"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.deletes_rows and "_window" not in self.audit_columns:
            msg = f"{self.kind}: on_rewritten='delete_rows' needs the column _window; add it to audit"
            raise OptionsError(msg)

    @property
    def deletes_rows(self) -> bool:
        """Whether a window's rows are deleted one by one if other writers have moved them into other files."""
        return self.on_rewritten == "delete_rows"


@dataclass(frozen=True)
class DeltaSink(FileTableSink):
    """A Delta Lake table, created when the first records are published.

    `properties` are set when the table is created, such as `delta.logRetentionDuration`.
    """

    kind: ClassVar[str] = "delta"
    _: KW_ONLY
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.properties.get(COLUMN_MAPPING, "none") != "none":
            msg = f"delta: {COLUMN_MAPPING} gives columns other names in files than those written here; leave it out"
            raise OptionsError(msg)

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the sink for a table's directory; options that begin with `delta.` are properties."""
        properties = {name: text for name, text in texts.items() if name.startswith("delta.")}
        own = {name: text for name, text in texts.items() if name not in properties}
        return replace(super().from_texts(output, own), properties=properties)


@dataclass(frozen=True)
class IcebergSink(FileTableSink):
    """An Apache Iceberg table, given as `namespace.table`, created when the first records are published.

    `catalog` and `catalog_properties` are a catalog's name and properties as pyiceberg defines them. They must not
    contain secrets, which come from the Airflow connection `catalog_conn_id`, or from pyiceberg's own environment
    variables. `location` and `properties` are the folder and the properties of a table that is created.
    """

    kind: ClassVar[str] = "iceberg"
    has_transforms: ClassVar[bool] = True
    _: KW_ONLY
    catalog: str = "default"
    catalog_properties: Mapping[str, str] = field(default_factory=dict)
    catalog_conn_id: str | None = None
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "." not in self.uri.strip("."):
            msg = f"iceberg: {self.uri!r} must name a table with its namespace, as in db.events"
            raise OptionsError(msg)
        properties: Mapping[str, object] = self.catalog_properties  # a DAG may give values that are not texts
        for name, value in properties.items():
            refuse_secret(f"iceberg: catalog property {name}", name, str(value))
            if not isinstance(value, str):
                msg = f"iceberg: catalog property {name} must be text, not {value!r}; write it as {str(value)!r}"
                raise OptionsError(msg)
            if name.startswith("py-"):  # Airflow's web server loads the catalog, too, and must not run user code
                msg = (
                    f"iceberg: catalog property {name} names code, which is not allowed in options; put it into the"
                    " Airflow connection that catalog_conn_id names"
                )
                raise OptionsError(msg)
        if self.work_uri is None and self.folder is None:
            msg = "iceberg: set work_uri to a folder, because the catalog property warehouse does not name one"
            raise OptionsError(msg)
        super().__post_init__()

    def anywhere(self, canonical: Callable[[str], str]) -> Self:
        """Return the same sink with places that mean the same in every process."""
        location = None if self.location is None else canonical(self.location)
        catalog = dict(self.catalog_properties)
        if "/" in catalog.get("warehouse", ""):  # else it is a name that the catalog knows
            catalog["warehouse"] = canonical(catalog["warehouse"])
        return replace(self, location=location, catalog_properties=catalog, work_uri=canonical(self.work_area))

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the sink for a table's name; options that the sink does not have are properties of the catalog."""
        given, catalog = _parted(cls, texts, {"catalog_properties", "properties"})
        return cls(output, catalog_properties=catalog, **given)

    @property
    def access_conn_id(self) -> str | None:
        """The Airflow connection of the catalog."""
        return self.catalog_conn_id

    @property
    def place(self) -> str:
        """The table in its catalog."""
        return f"iceberg://{self.catalog}/{self.uri}"

    @property
    def folder(self) -> str | None:
        """The folder of the table's files, or the folder of all tables."""
        warehouse = self.catalog_properties.get("warehouse", "")
        return self.location or (warehouse if "/" in warehouse else None)


@dataclass(frozen=True)
class PostgresSink(ColumnarSink):
    """A PostgreSQL table, given as `schema.table`, created when the first records are published.

    `url` names the database, without a password: that comes from the Airflow connection `postgres_conn_id`, which can
    also name the database, or from where PostgreSQL's own library looks (`PGPASSWORD`, `~/.pgpass`).
    """

    kind: ClassVar[str] = "postgres"
    keeps_files: ClassVar[bool] = False
    _: KW_ONLY
    url: str | None = None
    postgres_conn_id: str | None = None

    def __post_init__(self) -> None:
        if self.uri.count(".") != 1 or not all(self.uri.split(".")):
            msg = f"postgres: {self.uri!r} must name a table with its schema, as in public.events"
            raise OptionsError(msg)
        if self.work_uri is None:
            msg = "postgres: work_uri must name a folder, where files are staged"
            raise OptionsError(msg)
        if "_window" in self.audit:
            msg = "postgres: every table has the column _window; leave it out of audit"
            raise OptionsError(msg)
        if self.partition_by:
            msg = "postgres: partition_by is for files; leave it out, and declare partitions of the table in SQL"
            raise OptionsError(msg)
        if given := [name for name in ("sort_by", "encodings", "codecs") if getattr(self, name)]:
            msg = f"postgres: {given[0]} is for files that readers open; leave it out"
            raise OptionsError(msg)
        if self.url is not None:
            refuse_secret("postgres: url", "url", self.url)
        super().__post_init__()

    def anywhere(self, canonical: Callable[[str], str]) -> Self:
        """Return the same sink with places that mean the same in every process."""
        return replace(self, work_uri=canonical(self.work_area))

    @property
    def access_conn_id(self) -> str | None:
        """The Airflow connection of the database."""
        return self.postgres_conn_id

    @property
    def place(self) -> str:
        """The table in its database, as Airflow names it; without `url`, the connection stands for the database."""
        return (
            self.place_at(self.url) if self.url else f"postgres://{self.postgres_conn_id or 'localhost'}/{self._path}"
        )

    def place_at(self, url: str) -> str:
        """Return the table's place in the database of a URL (default: the user's database), without secrets."""
        parts = urlsplit(url)
        database = parts.path.strip("/") or parts.username or "postgres"
        return f"postgres://{parts.hostname or 'localhost'}:{parts.port or 5432}/{database}/{self._path}"

    @property
    def _path(self) -> str:
        return self.uri.replace(".", "/")

    @property
    def folder(self) -> str | None:
        """None, because rows are not in a folder."""
        return None


@dataclass(frozen=True)
class CustomSink(Sink):
    """A sink of your own: a class, by its import path `"package.module:Class"`, and its arguments in `options`.

    The names of its files end in `suffix`. `audit` adds columns that say where a row comes from. The options must not
    contain secrets: the class gets the fields of the Airflow connection `access_conn_id` separately, on Airflow's side.
    """

    kind: ClassVar[str] = "custom_sink"
    keeps_files: ClassVar[bool] = False
    _: KW_ONLY
    path: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    suffix: str = ""
    access_conn_id: str | None = None
    audit: Sequence[str] = ()

    def __post_init__(self) -> None:
        for column in self.audit:
            one_of(self.kind, "audit", column, AUDIT_COLUMNS)
        import_path(self.kind, self.path, "Class")
        only_json(self.kind, self.options)
        for option, value in self.options.items():
            for name, text in _texts(option, value):
                refuse_secret(f"custom_sink: option {option}", name, text)
        super().__post_init__()

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the sink for an output; options that the sink does not have are arguments of the class."""
        given, own = _parted(cls, texts, {"options"})
        return cls(output, options=own, **given)

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The audit columns that are requested."""
        return tuple(dict.fromkeys(self.audit))


def _texts(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the scalars inside a JSON value, each with the name of the innermost key above it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(name, inner)
    else:
        yield name, str(value)


def _parted(cls: type[Sink], texts: Mapping[str, str], rests: set[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of a sink's own options, and the remaining texts, which belong to the options in `rests`."""
    own = {found.name for found in fields(cls)} - {"uri", *rests}
    given = parse_options(cls, {name: text for name, text in texts.items() if name in own})
    return given, {name: text for name, text in texts.items() if name not in own}


def refuse_secret(what: str, name: str, value: str) -> None:
    """Refuse a secret, recognized by its name or as part of a URL, that would be stored in the ledger.

    Raises:
        OptionsError: naming the option, not the value.
    """
    if _SECRET.search(name) or _PASSWORD.search(value):
        msg = (
            f"{what} holds a secret, which manifests would store; put it into an Airflow connection, or into an"
            " environment variable that the library reads"
        )
        raise OptionsError(msg)
