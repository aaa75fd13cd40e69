"""Where and how a Spark application runs."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import SparkJob


@pytest.mark.parametrize("name", ["", " ", "LICENSE=abc"])
def test_variables_to_inherit_are_named(name: str) -> None:
    """A value has no place there; a name or pattern, as the message has it, is taken."""
    with pytest.raises(OptionsError, match=r"environment names variables to inherit, such as 'CORP_\*'"):
        SparkJob(environment=("A", name))
    assert SparkJob(environment=("CORP_*",)).environment == ("CORP_*",)
