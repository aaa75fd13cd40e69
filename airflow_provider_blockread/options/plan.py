"""What to read: options that are frozen with the window's plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.sizes import parse_size
from airflow_provider_blockread.options.values import Value


def one_of(kind: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the allowed ones.

    Raises:
        OptionsError: naming the option and what it may be.
    """
    if value not in allowed:
        msg = f"{kind}: {name} must be one of {', '.join(allowed)}, not {value!r}"
        raise OptionsError(msg)


@dataclass(frozen=True)
class FileSource(Value):
    """Where files land: one or several roots (folders or single files, anything fsspec opens) and what to take.

    `pattern` and `exclude` are globs on the path relative to its root (`**` spans folders); several are joined by
    "any of". Hidden names (a leading `.` or `_`) and names of files being written (`._COPYING_`, `.tmp`, `.part`)
    are skipped unless `hidden` is true. A file younger than `min_age` seconds waits for the next window.
    """

    kind: ClassVar[str] = "file_source"
    uris: str | Sequence[str]
    _: KW_ONLY
    pattern: str | Sequence[str] = "**"
    exclude: str | Sequence[str] = ()
    recursive: bool = True
    hidden: bool = False
    min_age: float = 0.0  # seconds
    conn_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse a source without a root."""
        if not self.roots or not all(root.strip() for root in self.roots):
            msg = "file_source: name at least one root, and none that is blank"
            raise OptionsError(msg)

    @property
    def roots(self) -> tuple[str, ...]:
        """The roots in the order given."""
        return (self.uris,) if isinstance(self.uris, str) else tuple(self.uris)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The globs of which a path must match one."""
        return (self.pattern,) if isinstance(self.pattern, str) else tuple(self.pattern)

    @property
    def excludes(self) -> tuple[str, ...]:
        """The globs of which a path may match none."""
        return (self.exclude,) if isinstance(self.exclude, str) else tuple(self.exclude)


@dataclass(frozen=True, kw_only=True)
class Limits(Value):
    """How much one window may hold; all limits hold together, and the first file is always admitted."""

    kind: ClassVar[str] = "limits"
    max_files: int | None = None
    max_bytes: int | None = None
    max_blocks: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that admit nothing."""
        for name in ("max_files", "max_bytes", "max_blocks"):
            value = getattr(self, name)
            if value is not None and value < 1:
                msg = f"limits: {name} must be at least 1, not {value}"
                raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class Selection(Value):
    """Which of the discovered files a window takes.

    `select="arrival"`: files of no window of this feed yet. `select="interval"`: files whose modification time
    lies in the run's data interval. `order` is by modification time. `on_modified` says what a new version of a file
    already taken means: `ignore` (counted), `add` (read it as well) or `fail`.
    """

    kind: ClassVar[str] = "selection"
    select: str = "arrival"
    order: str = "oldest"
    on_modified: str = "ignore"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Refuse unknown words."""
        one_of(self.kind, "select", self.select, ("arrival", "interval"))
        one_of(self.kind, "order", self.order, ("oldest", "newest"))
        one_of(self.kind, "on_modified", self.on_modified, ("ignore", "add", "fail"))


@dataclass(frozen=True, kw_only=True)
class Splitting(Value):
    """How files are cut into blocks and blocks packed into groups; sizes are bytes or text such as `"64MiB"`."""

    kind: ClassVar[str] = "splitting"
    block_size: int | str = 64 * 2**20
    group_bytes: int | str = 16 * 2**30  # one Spark application costs about 10 s and 1 GB
    max_groups: int = 1000  # below Airflow's max_map_length of 1024

    def __post_init__(self) -> None:
        """Refuse sizes and counts below 1."""
        parse_size(self.block_size)
        parse_size(self.group_bytes)
        if self.max_groups < 1:
            msg = f"splitting: max_groups must be at least 1, not {self.max_groups}"
            raise OptionsError(msg)
