"""Sinks as DAG authors write them; `sinks` holds what they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import ClassVar, Self

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.encodings import encode_text
from airflow_provider_blockread.options.plan import one_of
from airflow_provider_blockread.options.values import Value, parse, parse_options

_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}  # of compressed text

_SECRET = re.compile(r"token|credential|secret|password|access[-_.]key|sas", re.IGNORECASE)
_PASSWORD = re.compile(r"[\w.+-]+://[^/@:]*:[^/@]+@")  # a URL with one


@dataclass(frozen=True)
class Sink(Value):
    """Where records go. `work_uri` (manifests, results, staging) is beside the output, never inside."""

    uri: str
    _: KW_ONLY
    work_uri: str | None = None
    conn_id: str | None = None

    def __post_init__(self) -> None:
        if not self.uri.strip():
            msg = f"{self.kind}: uri must name a directory"
            raise OptionsError(msg)
        if self.folder and (self.work_area.rstrip("/") + "/").startswith(self.folder.rstrip("/") + "/"):
            msg = f"{self.kind}: work_uri {self.work_area} is inside the output {self.folder}; choose a place beside it"
            raise OptionsError(msg)

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the sink of an output and options given as text, as on a command line.

        Raises:
            OptionsError: when an option is unknown, or its text is not of the option's type.
        """
        return parse(cls, {"uri": output, **texts})

    @property
    def connections(self) -> Mapping[str, str | None]:
        """The Airflow connections of stores, by the folders that they are for; None for the ambient identity."""
        folders = [folder for folder in (self.folder, self.work_area) if folder is not None]
        return dict.fromkeys(folders, self.conn_id)

    @property
    def access_conn_id(self) -> str | None:
        """The Airflow connection of a catalog or database."""
        return None

    def anywhere(self, canonical: Callable[[str], str]) -> Self:
        """Return the same sink with places that mean the same in every process."""
        return replace(self, uri=canonical(self.uri), work_uri=canonical(self.work_area))

    @property
    def place(self) -> str:
        """Where readers look, as messages name it."""
        return self.uri

    @property
    def folder(self) -> str | None:
        """The folder of the published files, as far as it is known; None if they are in no folder."""
        return self.uri

    @property
    def work_area(self) -> str:
        """The folder of everything that is not published."""
        return self.work_uri or self.uri.rstrip("/") + ".blockread"

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return f".{self.kind}"

    @property
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
        return False


@dataclass(frozen=True)
class ColumnarSink(Sink):
    """Records in Parquet files.

    A row group holds `row_group_bytes`, and a task starts its next file after `file_bytes`, both before compression.
    """

    _: KW_ONLY
    compression: str = "snappy"
    row_group_bytes: int = 64 * 2**20
    file_bytes: int = 1 * 2**30

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "compression", self.compression, ("snappy", "zstd", "gzip", "lz4", "none"))

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return ".parquet"


@dataclass(frozen=True)
class ParquetSink(ColumnarSink):
    """A directory of Parquet files."""

    kind: ClassVar[str] = "parquet"


@dataclass(frozen=True)
class DeltaSink(ColumnarSink):
    """A Delta Lake table, made when the first records are published.

    `properties` are those of a table that is made, such as `delta.logRetentionDuration`.
    """

    kind: ClassVar[str] = "delta"
    _: KW_ONLY
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the table of a directory; options that begin with `delta.` are properties."""
        properties = {name: text for name, text in texts.items() if name.startswith("delta.")}
        own = {name: text for name, text in texts.items() if name not in properties}
        return replace(super().from_texts(output, own), properties=properties)


@dataclass(frozen=True)
class IcebergSink(ColumnarSink):
    """An Apache Iceberg table, given as `namespace.table`, made when the first records are published.

    `catalog` and `catalog_properties` are a catalog's name and properties as pyiceberg has them. Secrets are not among
    these: they come from the Airflow connection `catalog_conn_id`, or from pyiceberg's own environment variables.
    `location` is the folder of a table that is made; `properties` are its properties.
    """

    kind: ClassVar[str] = "iceberg"
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
        for name, value in self.catalog_properties.items():
            refuse_secret(f"iceberg: catalog property {name}", name, value)
        if self.work_uri is None and self.folder is None:
            msg = "iceberg: work_uri must name a folder, as the catalog property warehouse does not"
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
        """Return the table of a name; what is no option of the sink is a property of the catalog, as `uri` is."""
        own = {found.name for found in fields(cls)} - {"uri", "catalog_properties", "properties"}
        catalog = {name: text for name, text in texts.items() if name not in own}
        given = parse_options(cls, {name: text for name, text in texts.items() if name in own})
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
        """The folder of the table's files, or the one with all tables."""
        warehouse = self.catalog_properties.get("warehouse", "")
        return self.location or (warehouse if "/" in warehouse else None)

    @property
    def work_area(self) -> str:
        """The folder of everything that is not published."""
        return self.work_uri or f"{str(self.folder).rstrip('/')}.blockread"


@dataclass(frozen=True)
class TextSink(Sink):
    r"""A directory of text files: a line for each row, its column `value` with `terminator` behind it.

    Rows have this one column, of text or bytes; a value that holds the terminator fails the window. A file is that of a
    task, or with `per="block"` of a block, whose number its name then ends in, in hex.
    """

    kind: ClassVar[str] = "text"
    _: KW_ONLY
    terminator: str | bytes = "\n"
    compression: str = "none"
    per: str = "task"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "compression", self.compression, ("none", *_SUFFIXES))
        one_of(self.kind, "per", self.per, ("task", "block"))
        if not self.terminator_bytes:
            msg = "text: terminator must hold at least one byte"
            raise OptionsError(msg)

    @property
    def terminator_bytes(self) -> bytes:
        """The terminator as it stands in the files."""
        return encode_text(self.kind, self.terminator, "utf-8")

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return f".txt{_SUFFIXES.get(self.compression, '')}"

    @property
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
        return self.per == "block"


def refuse_secret(what: str, name: str, value: str) -> None:
    """Refuse a value that would be stored in the ledger, and is a secret by its name or as part of a URL.

    Raises:
        OptionsError: naming the option, not the value.
    """
    if _SECRET.search(name) or _PASSWORD.match(value):
        msg = (
            f"{what} holds a secret, which manifests would store; put it into an Airflow connection, or into an"
            " environment variable that the library reads"
        )
        raise OptionsError(msg)


#: Sink names as users write them, to the option class of each.
SINKS: Mapping[str, type[Sink]] = {cls.kind: cls for cls in (ParquetSink, TextSink, DeltaSink, IcebergSink)}
