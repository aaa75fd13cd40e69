"""The words that upkeep accepts: which files are meant, and what happens to them."""

from __future__ import annotations

FILE_STATUSES = ("done", "bad", "quarantined")  # of files to reprocess: any; with bad records; with quarantined ones
WITHDRAWN_FILES = ("pending", "excluded")  # the new state of an undone window's files
CLEANING_ACTIONS = ("archive", "delete", "tag")
