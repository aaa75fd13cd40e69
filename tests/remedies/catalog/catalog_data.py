"""Where the remedies of options, blocks, records and storage are carried out."""

from __future__ import annotations

from tests.remedies.catalog.model import Entry
from tests.remedies.data.catalog_options import OPTIONS_SIDE
from tests.remedies.data.catalog_records import RECORDS_SIDE
from tests.remedies.data.catalog_storage import STORAGE_SIDE

CATALOG: list[Entry] = [*OPTIONS_SIDE, *RECORDS_SIDE, *STORAGE_SIDE]
