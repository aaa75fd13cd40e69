"""The words that upkeep takes: which files are meant, and what becomes of them."""

from __future__ import annotations

FILE_STATUSES = ("done", "bad", "quarantined")  # of files to reprocess: any, with bad records, with these in quarantine
WITHDRAWN_FILES = ("pending", "excluded")  # what the files of an undone window are then
CLEANING_ACTIONS = ("archive", "delete", "tag")
