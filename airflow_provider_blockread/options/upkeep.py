"""The words that upkeep takes: which files are meant, and what becomes of them."""

from __future__ import annotations

FILE_STATUSES = ("done", "bad", "quarantined")  # of files to reprocess
WITHDRAWN_FILES = ("pending", "excluded")  # what the files of an undone window are then
CLEANING_ACTIONS = ("archive", "delete", "tag")
