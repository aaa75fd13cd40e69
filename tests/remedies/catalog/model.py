"""What a catalog of remedies is made of: for each error message, the test that carries its remedy out."""

from __future__ import annotations

from dataclasses import dataclass

from tests.remedies.catalog.inventory import Message


@dataclass(frozen=True)
class Entry:
    """An entry for the messages of `file` that hold `says`, a short part of them that will stay."""

    file: str
    says: str

    def fits(self, message: Message) -> bool:
        """Return whether the entry is about the message."""
        return message.file == self.file and self.says in message.text


@dataclass(frozen=True)
class Remedy(Entry):
    """`test` (`tests/folder/test_file.py::test_name`) meets the error, does what it says, and sees that work."""

    test: str


@dataclass(frozen=True)
class Explained(Entry):
    """No test carries the remedy out, because of `why`: a user cannot meet it, or no test can do what it asks."""

    why: str
