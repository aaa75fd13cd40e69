"""URIs of stores that are unknown, not installed, or cannot be opened here: each error names the remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage import Stores


def test_an_unknown_scheme_says_what_to_install() -> None:
    """The error for a scheme whose package is missing names the package; other schemes are unknown."""
    with pytest.raises(OptionsError, match="libarchive"):
        Stores().remote("libarchive://x")
    with pytest.raises(OptionsError, match="the scheme is unknown"):
        Stores().remote("nonsense://x")


@pytest.mark.parametrize(
    ("scheme", "package", "extra"), [("s3", "s3fs", "s3"), ("az", "adlfs", "azure"), ("gs", "gcsfs", "gcs")]
)
def test_a_store_without_its_package_names_the_extra(scheme: str, package: str, extra: str) -> None:
    """The error for a store of this package's extras names the extra."""
    script = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from airflow_provider_blockread.storage import Stores\n"
        f"try: Stores().stat('{scheme}://x/y')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert output.startswith("OptionsError")
    assert f"install it: pip install 'airflow-provider-blockread[{extra}]'" in output


@pytest.mark.parametrize(("uri", "says"), [("adl://x/in", "abfs://"), ("hdfs://nn:8020/in", "libhdfs")])
def test_a_store_that_cannot_be_opened_here_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uri: str, says: str
) -> None:
    """The error for a retired store names its successor; that for a Hadoop store what to install."""
    for name in ("JAVA_HOME", "HADOOP_HOME", "ARROW_LIBHDFS_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(OptionsError, match=says):
        Stores().stat(uri)
