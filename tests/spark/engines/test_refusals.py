"""What keeps a Spark Connect server from being used is said before anything is read, with what to do about it."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError, SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.bundle import write_bundle
from airflow_provider_blockread.spark.engines import probe, session
from airflow_provider_blockread.spark.engines.session import Server, connect, equip, release
from airflow_provider_blockread.spark.remote import RemoteSpark
from tests.spark.engines.server import ConnectServer, connect_server

pytestmark = pytest.mark.spark

SPEC = Submission(spec_uri="file:///spec.json", spec_hash="00ff")


def opens(server: Server) -> None:
    """Open a session, and release it."""
    release(connect(server, str(uuid.uuid4())))


def is_equipped(server: Server, *files: str, **conf: str) -> None:
    """Open a session with a configuration and files."""
    made = connect(server, str(uuid.uuid4()))
    try:
        equip(made, server, conf, files)
    finally:
        release(made)


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    """The package's zip."""
    return write_bundle(str(tmp_path))


@pytest.mark.parametrize("url", ["sc://", "sc://host:80/path", "sc://host/;port", "localhost"])
def test_an_address_that_is_none(url: str, server: ConnectServer) -> None:
    """One like that in the message is taken."""
    with pytest.raises(
        OptionsError, match=r"is not the address of a Spark Connect server; write it as sc://host:port$"
    ):
        opens(Server(url))
    opens(server.server)


def test_a_server_that_is_not_there(server: ConnectServer) -> None:
    """The address, and why; the correct address works."""
    with pytest.raises(SparkJobError, match=r"^no Spark Connect server answers at localhost:1: .*refused.*; start it"):
        opens(Server("sc://localhost:1"))
    opens(server.server)


def test_a_token_that_is_wrong(server: ConnectServer) -> None:
    """The error does not repeat it; the right one is taken."""
    with pytest.raises(OptionsError, match=r"refuses this client: .*; correct its token") as refused:
        opens(Server(f"{server.remote}/;token=wrong"))
    assert "wrong" not in str(refused.value)
    opens(server.server)


def test_a_server_that_is_older(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the version in the message is used."""
    with monkeypatch.context() as later:
        later.setattr(session, "_OLDEST", (99, 0))
        with pytest.raises(OptionsError, match=r"has Spark 4\.\d+\.\d+; use a server of Spark 4.0 or newer"):
            opens(server.server)
    opens(server.server)


def test_a_client_that_is_too_new(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that asks for what the server lacks is refused; one that is newer and works, or an older one, is not."""
    import pyspark
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setattr(pyspark, "__version__", "99.0.0")
    opens(server.server)
    with monkeypatch.context() as newer:
        newer.setattr(SparkSession, "createDataFrame", lambda self, _: self.conf.get("spark.sql.of.the.future"))
        with pytest.raises(
            OptionsError,
            match=r"^PySpark 99.0.0 does not work with the Spark Connect server at localhost:\d+, which has Spark \S+"
            r" \(\[SQL_CONF_NOT_FOUND\] .*\); install pyspark-client==4\.\d+\.\* here, or use a newer server$",
        ) as refused:
            opens(server.server)
        assert "\n" not in str(refused.value)
        newer.setattr(pyspark, "__version__", "4.0.0")
        opens(server.server)


def test_a_configuration_of_the_server(server: ConnectServer, bundle: str) -> None:
    """What a session cannot set is named; without it, the session opens with the rest."""
    own = {"spark.sql.session.timeZone": "UTC"}
    with pytest.raises(OptionsError, match=r"does not take spark.executor.memory .*; set it on the server"):
        is_equipped(server.server, bundle, **own, **{"spark.executor.memory": "2g"})
    is_equipped(server.server, bundle, **own)


def test_a_file_that_is_not_there(server: ConnectServer, bundle: str, tmp_path: Path) -> None:
    """The path is named; where a file is, it is sent."""
    module = tmp_path / "mine.py"
    with pytest.raises(
        OptionsError, match=rf"^py_files: {module} cannot be sent .*; correct the path or rename the file$"
    ):
        is_equipped(server.server, bundle, str(module))
    module.write_text("x = 1\n")
    is_equipped(server.server, bundle, str(module))


def test_a_file_that_the_server_refuses(server: ConnectServer, bundle: str, tmp_path: Path) -> None:
    """Such as a second one of a name, which is named, with the server's reason; under another name it is sent."""
    paths = [tmp_path / name for name in ("a/mine.py", "b/mine.py", "b/ours.py")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x = {str(path)!r}\n")
    first, second, renamed = map(str, paths)
    with pytest.raises(OptionsError, match=rf"^py_files: {second} .*already exists.*; correct the path or rename the"):
        is_equipped(server.server, bundle, first, second)
    is_equipped(server.server, bundle, first, renamed)


def test_another_python(server: ConnectServer, bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers say which one they are; with the same one, the session opens."""
    from pyspark.sql.connect import udf

    with monkeypatch.context() as older:
        older.setattr(udf, "sys", type("sys", (), {"version_info": (3, 9)}), raising=False)
        for module in [name for name in sys.modules if name.startswith("pyspark.sql.connect")]:
            if hasattr(sys.modules[module], "get_python_ver"):
                older.setattr(sys.modules[module], "get_python_ver", lambda: "3.9")
        with pytest.raises(OptionsError, match=r"runs Python 3\.\d+, and this is Python 3\.\d+; start the server with"):
            is_equipped(server.server, bundle)
    is_equipped(server.server, bundle)


def test_a_package_that_is_missing(server: ConnectServer, bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them in one message; with none missing, the session opens."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(probe)  # type: ignore[no-untyped-call]
    try:
        with monkeypatch.context() as more:
            more.setattr(probe, "_NEEDED", ("numpy", "one_package", "another"))
            with pytest.raises(OptionsError, match="lacks one_package, another; install it on the server's driver"):
                is_equipped(server.server, bundle)
    finally:
        cloudpickle.unregister_pickle_by_value(probe)  # type: ignore[no-untyped-call]
    is_equipped(server.server, bundle)


def test_workers_without_pyarrow(tmp_path: Path) -> None:
    """A Python that has nothing installed is named by the first package that Spark itself needs there."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with (
        connect_server(tmp_path, python=str(bare / "bin" / "python")) as server,
        RemoteSpark(server.server, SparkJob(remote=server.remote)) as spark,
        pytest.raises(OptionsError, match=r"lacks (pyarrow|pandas|numpy); install it"),
    ):
        spark.submit(SPEC, name="blockread-w-g1-0-e1")
