"""What the options of a Delta table refuse."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import DeltaSink


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_of_other_names_in_files(mode: str) -> None:
    """Readers would find none of the columns under such a name; without the mapping they do."""
    with pytest.raises(OptionsError, match=r"delta\.columnMapping\.mode gives columns other names .*; leave it out"):
        DeltaSink("/lake", properties={"delta.columnMapping.mode": mode})
    DeltaSink("/lake", properties={"delta.columnMapping.mode": "none"})
