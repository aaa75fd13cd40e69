"""How to read, and where to write: options of a generation, so that a rebuild can use corrected ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import above_zero, is_template, parsed_or_template
from airflow_provider_blockread.options.formats import FormatOption, Lines, WholeFile
from airflow_provider_blockread.options.functions import AsRead, FunctionOption
from airflow_provider_blockread.options.parsing.sizes import most_of
from airflow_provider_blockread.options.sinks import FILE_COLUMNS, ArchiveSink, ColumnarSink, Sink
from airflow_provider_blockread.options.source import Bounds
from airflow_provider_blockread.options.values import Value, from_json

#: The Airflow connection of Spark if none is named.
DEFAULT_CONNECTION = "spark_default"

_MASTERS = ("local", "spark://", "yarn", "k8s://")  # those of Spark 4
_LONGEST = 2**31 - 2**21  # bytes of a record: Arrow's values end there, and a buffer holds up to a chunk more
# Spark's own spark.redaction.regex, plus further keys and signatures of stores.
_IS_SECRET = re.compile(
    "secret|password|token|(access|account|encryption|private)[.]?key|[.]sas[.]|[.]credential$", re.IGNORECASE
)
_IS_TOKEN = re.compile("(token|authorization)=|@", re.IGNORECASE)  # a server gets unknown parameters as headers


@dataclass(frozen=True, kw_only=True)
class Policies(Value):
    """What happens when something is not as planned.

    `on_missing`, `on_changed`: if a planned file is gone, or has another version: `fail`, or `exclude` the file and
    record it.
    `on_bad_record`: `fail`, `quarantine` its bytes, or `drop` and count it. A window with more bad records than
    `max_bad_records` (a number, or a share of its records such as `"0.1%"`) is not published.
    `on_rerun`: if a published window is cleared: `rebuild`, `verify` (read and prove, write nothing) or `skip`.
    `on_empty`: if there is nothing to read: `skip` the tasks downstream, or let them run (`succeed`).
    `proof="digest"` adds a sum of record hashes that does not depend on how files were split.
    `max_record_bytes` limits a record; `max_decoded_bytes` and `max_expansion` (decoded bytes per compressed byte,
    checked after the first 16 MiB) limit a decoded file; `max_columns` limits the columns of a csv file.
    """

    kind: ClassVar[str] = "policies"
    on_missing: Literal["fail", "exclude"] = "fail"
    on_changed: Literal["fail", "exclude"] = "fail"
    on_bad_record: Literal["fail", "quarantine", "drop"] = "fail"
    max_bad_records: int | str | None = None
    on_rerun: Literal["rebuild", "verify", "skip"] = "rebuild"
    on_empty: Literal["skip", "succeed"] = "skip"
    proof: Literal["sums", "digest"] = "sums"
    max_record_bytes: int = 64 * 2**20
    max_decoded_bytes: int = 2**40
    max_expansion: int = 1000
    max_columns: int = 16_384

    def __post_init__(self) -> None:
        for name in ("max_record_bytes", "max_decoded_bytes", "max_expansion", "max_columns"):
            above_zero(self.kind, name, getattr(self, name))
        if self.max_record_bytes > _LONGEST:
            msg = f"policies: max_record_bytes={self.max_record_bytes} must be below 2 GiB; give at most {_LONGEST}"
            raise OptionsError(msg)
        parsed_or_template(self.kind, "max_bad_records", self.max_bad_records, partial(most_of, whole=0))
        if self.on_bad_record == "fail" and self.max_bad_records is not None:
            msg = (
                f"policies: max_bad_records={self.max_bad_records!r} has no meaning under on_bad_record='fail', which"
                " fails the window at its first bad record; set on_bad_record to 'quarantine' or 'drop', or leave"
                " max_bad_records out"
            )
            raise OptionsError(msg)

    def allows_bad(self, bad_records: int, records: int) -> bool:
        """Return whether a window may be published with so many bad ones among its records."""
        return self.max_bad_records is None or bad_records <= most_of(self.max_bad_records, records)


@dataclass(frozen=True, kw_only=True)
class GenerationOptions(Value):
    """All options that decide what a pass over a window reads and writes; different options make a new generation.

    A plan derives `bounds` from its source, for the tasks that open the files. With `merges`, each task reads as many
    bytes as a file of the sink should hold, instead of an equal share.
    """

    kind: ClassVar[str] = "generation"
    sink: Sink
    record_format: FormatOption = Lines()
    function: FunctionOption = AsRead()
    policies: Policies = Policies()
    bounds: Bounds = Bounds()
    merges: bool = False

    @property
    def task_bytes(self) -> int | None:
        """The bytes that a task reads, or None for an equal share."""
        if self.merges and isinstance(self.sink, (ArchiveSink, ColumnarSink)):
            return self.sink.file_bytes
        return None

    @property
    def added_bytes(self) -> int:
        """The bytes that the sink adds to each file that it merges."""
        return len(self.sink.separator_bytes) if isinstance(self.sink, ArchiveSink) else 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the options that `to_json` wrote.

        Raises:
            OptionsError: when they were written by another version of this package.
        """
        options = from_json(data)
        if not isinstance(options, cls):
            msg = f"these are options of kind {options.kind!r}, not of a generation; use one version of this package"
            raise OptionsError(msg)
        return options


@dataclass(frozen=True, kw_only=True)
class SparkJob(Value):
    """Where and how the Spark application runs; nothing here changes what is read or written.

    `conn_id` is an Airflow connection of type `spark` or `spark_connect`. `master` overrides the host of the former;
    `remote` (`sc://host:port`) is a Spark Connect server to use instead of a connection. `conf` is passed to Spark
    unchanged; settings with secrets (`secret`, `password`, `token`, `.sas.`, or an `access`, `account`, `encryption` or
    `private` key in the name) are passed in a private file. `proxy_user` is the user whom Spark impersonates on the
    cluster. `py_files` are additional zips or modules for the executors, such as the module of a user's function.
    `environment` names variables (`*` matches any text) that a driver inherits in addition to the usual ones. A task
    whose last heartbeat is older than `stale_after_s` seconds counts as dead.
    """

    kind: ClassVar[str] = "spark_job"
    conn_id: str = DEFAULT_CONNECTION
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)  # Airflow shows what an operator's options print
    proxy_user: str | None = None
    py_files: Sequence[str] = ()
    environment: Sequence[str] = ()
    heartbeat_s: float = 10.0
    stale_after_s: float = 120.0

    def __post_init__(self) -> None:
        if self.master is not None and not (is_template(self.master) or self.master.startswith(_MASTERS)):
            msg = "spark_job: master must be local[2], spark://host:7077, yarn or k8s://https://host:443"
            raise OptionsError(msg)
        if self.remote is not None:
            self._check_remote(self.remote)
        for name in self.environment:
            if not name.strip() or "=" in name:
                msg = f"spark_job: environment names variables to inherit, such as 'CORP_*', not {name!r}"
                raise OptionsError(msg)
        numbers = all(isinstance(seconds, (int, float)) for seconds in (self.heartbeat_s, self.stale_after_s))
        if not numbers or not 0 < self.heartbeat_s < self.stale_after_s:
            msg = (
                f"spark_job: heartbeat_s={self.heartbeat_s!r} must be between 0 and stale_after_s="
                f"{self.stale_after_s!r}"
            )
            raise OptionsError(msg)

    @property
    def secrets(self) -> dict[str, str]:
        """The settings of `conf` that must stay secret."""
        return {key: value for key, value in self.conf.items() if _IS_SECRET.search(key)}

    def without_secrets(self) -> Self:
        """Return the job without its secret settings."""
        return replace(self, conf={key: value for key, value in self.conf.items() if key not in self.secrets})

    def _check_remote(self, remote: str) -> None:
        named = [name for name in ("master", "conn_id") if getattr(self, name) not in {None, DEFAULT_CONNECTION}]
        if named:
            msg = f"spark_job: remote and {named[0]} both say where Spark runs; leave one of them out"
            raise OptionsError(msg)
        if not (is_template(remote) or remote.startswith("sc://")):  # a template is checked once it is rendered
            msg = "spark_job: remote must be 'sc://host:port'"
            raise OptionsError(msg)
        if _IS_TOKEN.search(remote):
            msg = (
                "spark_job: remote must not contain a token; put it into a connection of type spark_connect, or into"
                " SPARK_CONNECT_AUTHENTICATE_TOKEN"
            )
            raise OptionsError(msg)


#: How the files to merge are read: as raw bytes, whatever their content.
MERGED = WholeFile(encoding="binary", compression="none", keep_empty=True)


def merging(sink: Sink, policies: Policies = Policies()) -> GenerationOptions:
    """Return the options of a generation that merges files: each file is a row, with its name and its time.

    Raises:
        OptionsError: when the sink has no place for them, or would keep each apart; or when policies name what happens
            to bad records, of which there are none.
    """
    if policies.on_bad_record in {"quarantine", "drop"}:
        msg = (
            f"policies: on_bad_record={policies.on_bad_record!r} has no meaning for merged files, which are taken as"
            " they are; leave it out, and exclude files that are too large with `blockread windows exclude`"
        )
        raise OptionsError(msg)
    return GenerationOptions(sink=_naming(sink), record_format=MERGED, policies=policies, merges=True)


def _naming(sink: Sink) -> Sink:
    if isinstance(sink, ArchiveSink):
        return sink
    if not isinstance(sink, ColumnarSink):
        msg = (
            f"{sink.kind}: merged files need a place for their names and times; choose an archive, or a sink with"
            " columns, as parquet"
        )
        raise OptionsError(msg)
    plain = [partition.column for partition in sink.partitions if partition.is_plain]
    if apart := next((column for column in plain if column in FILE_COLUMNS), ""):
        msg = (
            f"{sink.kind}: partition_by {apart!r} would keep every file apart, so that nothing is merged; partition by"
            " a column that many files share, such as _window"
        )
        raise OptionsError(msg)
    return replace(sink, audit=tuple(dict.fromkeys((*FILE_COLUMNS, *sink.audit))))
