"""Sinks as DAG authors write them; `sinks` holds what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.plan import one_of
from airflow_provider_blockread.options.values import Value


@dataclass(frozen=True)
class Sink(Value):
    """Where records go. `work_uri` (manifests, results, staging) is beside the output, never inside."""

    uri: str
    _: KW_ONLY
    work_uri: str | None = None
    conn_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse a blank place, and a work area inside the output."""
        if not self.uri.strip():
            msg = f"{self.kind}: uri must name a directory"
            raise OptionsError(msg)
        if (self.work_area.rstrip("/") + "/").startswith(self.uri.rstrip("/") + "/"):
            msg = f"{self.kind}: work_uri {self.work_area} is inside the output {self.uri}; choose a place beside it"
            raise OptionsError(msg)

    @property
    def work_area(self) -> str:
        """The folder of everything that is not published."""
        return self.work_uri or self.uri.rstrip("/") + ".blockread"

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return f".{self.kind}"


@dataclass(frozen=True)
class ParquetSink(Sink):
    """A directory of Parquet files.

    A row group holds `row_group_bytes`, and a task starts its next file after `file_bytes`, both before compression.
    """

    kind: ClassVar[str] = "parquet"
    _: KW_ONLY
    compression: str = "snappy"
    row_group_bytes: int = 64 * 2**20
    file_bytes: int = 1 * 2**30

    def __post_init__(self) -> None:
        """Refuse an unknown codec."""
        super().__post_init__()
        one_of(self.kind, "compression", self.compression, ("snappy", "zstd", "gzip", "lz4", "none"))


#: Sink names as users write them, to the option class of each.
SINKS: Mapping[str, type[Sink]] = {cls.kind: cls for cls in (ParquetSink,)}
