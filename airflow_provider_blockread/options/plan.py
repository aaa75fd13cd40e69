"""What a window takes and how it is cut into blocks: options that are frozen with its plan."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import above_zero, parsed_or_template
from airflow_provider_blockread.options.parsing.sizes import parse_size
from airflow_provider_blockread.options.parsing.times import parse_duration, parse_time
from airflow_provider_blockread.options.values import Value

#: The value of `block_size` with which a size is chosen for each file.
AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Limits(Value):
    """How much one window may hold; all limits apply together.

    A file that exceeds `max_bytes` or `max_blocks` by itself is read in parts of at least one block, one part per
    window, if its format can be split; otherwise one window takes the whole file.
    """

    kind: ClassVar[str] = "limits"
    max_files: int | None = None
    max_bytes: int | None = None
    max_blocks: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_files", "max_bytes", "max_blocks"):
            if getattr(self, name) is not None:
                above_zero(self.kind, name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Selection(Value):
    """Which of the discovered files a window takes.

    `select="arrival"`: files that no window of this feed has taken. `select="interval"`: files whose time is in the
    run's data interval. A file's time is what `FileSource.time_pattern` finds in its path, or the time of its last
    modification; `order` sorts by it. Files older than `start_from` (ISO 8601 text, UTC) or `max_age` (seconds, or text
    such as `"7d"`) are left out and counted.

    `late` decides about files that arrive after the window of their interval was planned. `next`: the next window takes
    them. `reopen`: planning the interval again (clear its run) takes them as a second window. `report`: they are
    counted and wait. `on_modified` decides about a new version of a file that was taken: `ignore` (count it), `add`
    (read it as well) or `fail`. `on_untimed` decides about a file whose time is needed but cannot be found: `ignore`
    (leave it out and count it) or `fail`.
    """

    kind: ClassVar[str] = "selection"
    select: Literal["arrival", "interval"] = "arrival"
    order: Literal["oldest", "newest"] = "oldest"
    late: Literal["next", "reopen", "report"] = "next"
    start_from: str | None = None
    max_age: float | str | None = None  # seconds, or text
    on_modified: Literal["ignore", "add", "fail"] = "ignore"
    on_untimed: Literal["ignore", "fail"] = "ignore"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        parsed_or_template(self.kind, "start_from", self.start_from, parse_time)
        parsed_or_template(self.kind, "max_age", self.max_age, parse_duration)


@dataclass(frozen=True, kw_only=True)
class Splitting(Value):
    """How a window is divided among tasks and Spark applications; sizes are bytes or text such as `"64MiB"`.

    `block_size="auto"` chooses a size for each file, from 16 MiB to 256 MiB, aligned with the store's own blocks (HDFS
    blocks, or 64 MiB elsewhere), so that a large file has one block for each of `max_readers` readers (default 32).

    Readers are the Spark tasks that read a window at once, in all groups together: at most `max_readers`. With
    `target_minutes` a plan chooses their number between `min_readers` and `max_readers`, from the window's bytes and
    from the rate of the feed's earlier windows, so that reading takes at most that long. A group has at least one
    reader.
    """

    kind: ClassVar[str] = "splitting"
    block_size: int | str = 64 * 2**20
    group_bytes: int | str = 16 * 2**30  # one Spark application costs about 10 s and 1 GB
    max_groups: int = 1000  # below Airflow's max_map_length of 1024
    min_readers: int = 1
    max_readers: int | None = None
    target_minutes: float | None = None

    def __post_init__(self) -> None:
        if self.block_size != AUTO:
            parsed_or_template(self.kind, "block_size", self.block_size, parse_size)
        parsed_or_template(self.kind, "group_bytes", self.group_bytes, parse_size)
        for name in ("max_groups", "min_readers"):
            above_zero(self.kind, name, getattr(self, name))
        if self.max_readers is not None:
            above_zero(self.kind, "max_readers", self.max_readers)
        self._check_target()

    def _check_target(self) -> None:
        if self.max_readers is not None and self.min_readers > self.max_readers:
            msg = f"splitting: min_readers={self.min_readers} must be at most max_readers={self.max_readers}"
            raise OptionsError(msg)
        if self.target_minutes is None and self.min_readers > 1:
            msg = "splitting: min_readers limits what target_minutes chooses; set target_minutes, or leave both out"
            raise OptionsError(msg)
        if self.target_minutes is None:
            return
        if not isinstance(self.target_minutes, (int, float)) or not 0 < self.target_minutes < inf:
            msg = f"splitting: target_minutes must be a number above 0, not {self.target_minutes!r}"
            raise OptionsError(msg)
