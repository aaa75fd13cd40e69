"""What the fuzzer tries: a file of some format, and a way to read it; kept in small JSON files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from airflow_provider_blockread.options import FormatOption
from airflow_provider_blockread.options.values import from_json

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A file, and how it is read: in blocks of `block_size` bytes, `chunk` at once, `most` bytes a read."""

    option: FormatOption
    data: bytes
    block_size: int = 2**20
    chunk: int = 2**20
    most: int = 2**20
    why: str = ""

    def with_data(self, data: bytes) -> Trial:
        """Return the same reading of another file."""
        return dataclasses.replace(self, data=data)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_entry` reads back; options that are as usual are left out."""
        usual = {f.name: f.default for f in dataclasses.fields(self.option)}
        own = {name: value for name, value in self.option.to_json().items() if name == "kind" or value != usual[name]}
        reads = [self.block_size, self.chunk, self.most]
        return {"why": self.why, "option": own, "reads": reads, "data": self.data.decode("latin-1")}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Trial:
        """Return the trial that an entry of the corpus holds."""
        block_size, chunk, most = entry.get("reads", [2**20] * 3)
        return cls(
            option=cast("FormatOption", from_json(entry["option"])),
            data=entry["data"].encode("latin-1"),
            block_size=block_size,
            chunk=chunk,
            most=most,
            why=entry["why"],
        )

    def every_reading(self) -> Iterator[Trial]:
        """Yield this trial, and its file at every block size, with many sizes of chunks and short reads."""
        yield self
        size = len(self.data)
        chunks, reads = (1, 2, 3, 5, 8, 13, 2**20), (1, 2, 3, 2**20)
        for block_size in range(1, size + 2) if size < 200 else (1, 7, 64, 1000, size // 2, size + 1):
            if size // block_size < 500:
                chunk, most = chunks[block_size % len(chunks)], reads[block_size % len(reads)]
                yield dataclasses.replace(self, block_size=block_size, chunk=chunk, most=most)
        for chunk in range(1, min(size, 60)):
            yield dataclasses.replace(self, block_size=size, chunk=chunk)


def load_corpus(folder: Path = CORPUS) -> list[Trial]:
    """Return all trials of the corpus."""
    return [Trial.from_entry(entry) for path in sorted(folder.glob("*.json")) for entry in json.loads(path.read_text())]


def save(trial: Trial, folder: Path = CORPUS) -> Path:
    """Write a trial to a file of the corpus that is named by its content, and return where."""
    text = json.dumps([trial.to_json()], indent=1) + "\n"
    path = folder / f"found-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text, encoding="utf-8")
    return path
