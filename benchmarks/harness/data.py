"""Files to read, with the same bytes in every run: each generator has its own seed."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

_POOL = 100_000  # different records: about 15 MB, far more than a dictionary or a codec's window
_PER_FOLDER = 1000  # small files
CSV_SCHEMA = "id long, user long, ts timestamp, ms double, msg string"
JSON_SCHEMA = "id long, ts timestamp, level string, ms double, msg string"


def log_line(number: int, chance: random.Random) -> str:
    """Return one line of a log: most are requests, some are long, some are empty."""
    if number % 500 == 0:
        return ""
    level = chance.choices(("INFO", "WARN", "ERROR", "DEBUG"), (80, 10, 2, 8))[0]
    item = chance.randrange(10**7)
    head = f"2024-05-{1 + number % 28:02d}T{_clock(number)}.{chance.randrange(1000):03d}Z {level}"
    text = f"{head} [worker-{chance.randrange(64)}] com.example.service.RequestHandler - user={chance.randrange(10**7)}"
    text += f" path=/api/v1/items/{item} status=200 duration_ms={chance.randrange(5000)} bytes={item * 3}"
    return text + f" agent=Example/{item % 97}.0 (möglich; {item:x})" * (number % 7)


def escaped_line(number: int, chance: random.Random) -> str:
    """Return one line of a log with its newlines and backslashes escaped: a tenth of the lines have some."""
    line = log_line(number, chance)
    if number % 10:
        return line
    return line + "\\\n  at com.example.Handler\\\n  at com.example.Main C:\\\\logs\\\\"


def json_line(number: int, chance: random.Random) -> str:
    """Return one JSON object that fits `JSON_SCHEMA`."""
    return json.dumps(
        {
            "id": number,
            "ts": f"2024-05-{1 + number % 28:02d}T{_clock(number)}Z",
            "level": chance.choice(("INFO", "WARN", "ERROR")),
            "ms": chance.randrange(10**6) / 100,
            "msg": f"user {chance.randrange(10**7)} asked for item {chance.randrange(10**7)} of {number % 1000}",
        }
    )


def csv_row(number: int, chance: random.Random) -> str:
    """Return one row that fits `CSV_SCHEMA`, without a quote."""
    return f"{_csv_head(number, chance)},GET /api/v1/items/{chance.randrange(10**7)} took its time {number % 1000}"


def quoted_csv_row(number: int, chance: random.Random) -> str:
    """Return one row that fits `CSV_SCHEMA`; its quoted text has newlines, commas, quotes and apparent rows."""
    item = chance.randrange(10**7)
    text = (
        f'user said ""{item:x}"", then\nasked for {item}, and\n{number},{item},left' if number % 2 else f"item {item}"
    )
    return f'{_csv_head(number, chance)},"{text}"'


def _csv_head(number: int, chance: random.Random) -> str:
    time = f"2024-05-{1 + number % 28:02d}T{_clock(number)}Z"
    return f"{number},{chance.randrange(10**7)},{time},{chance.randrange(10**6) / 100}"


def _clock(number: int) -> str:
    return f"{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}"


def write_lines(path: Path, size: int, line: Callable[[int, random.Random], str], newline: str = "\n") -> int:
    """Write complete lines of about `size` bytes into a file and return their number of bytes."""
    chance = random.Random(1)  # noqa: S311 - data, not secrets
    lines = [(line(number, chance) + newline).encode() for number in range(_POOL)]
    pool, ends = b"".join(lines), list(accumulate(map(len, lines), initial=0))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for _ in range(size // len(pool)):
            file.write(pool)
        file.write(pool[: ends[bisect_right(ends, size % len(pool)) - 1]])
    return path.stat().st_size


def write_small_files(folder: Path, count: int, size: range) -> int:
    """Write small files of log lines, 1000 a folder, and return their total bytes."""
    chance = random.Random(2)  # noqa: S311 - data, not secrets
    pool = "\n".join(log_line(number, chance) for number in range(1, 5000)).encode("ascii", "replace")
    return sum(_write_small(path, pool, chance, size) for path in _paths(folder, count))


def _paths(folder: Path, count: int) -> Iterator[Path]:
    for number in range(count):
        below = folder / f"day={number // _PER_FOLDER:04d}"
        if number % _PER_FOLDER == 0:
            below.mkdir(parents=True)
        yield below / f"part-{number:07d}.log"


def _write_small(path: Path, pool: bytes, chance: random.Random, size: range) -> int:
    length = chance.choice(size)
    start = chance.randrange(len(pool) - length)
    return path.write_bytes(pool[start : start + length])
