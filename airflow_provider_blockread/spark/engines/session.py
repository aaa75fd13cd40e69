"""Sessions of Spark Connect servers: opened, checked before anything is read, and released."""

from __future__ import annotations

import json
import re
import sys
import threading
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_blockread.errors import OptionsError, SparkJobError
from airflow_provider_blockread.exchange.seals import derived
from airflow_provider_blockread.spark.engines.probe import FOUND, probe
from airflow_provider_blockread.spark.installed import require_pyspark

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

#: The user of a session whose address names no user; with the session's id, other processes can find the session.
USER = "blockread"

_OLDEST = (4, 0)  # supported version of servers
_OPENING = 4  # retries within about 4 s
_ANSWER_S = 60.0  # for the first answer of a server
_RUNNING = 8  # retries within about 45 s, after which a server counts as lost
_MAX_BACKOFF_MS = 10_000
# Detects a server that hangs, or a connection that was cut silently. Clients from 4.3 on do so by themselves.
_KEEPALIVE = {
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.keepalive_permit_without_calls": 1,
}
_GONE = re.compile(
    r"INVALID_HANDLE\.\w*SESSION_|RESPONSE_ALREADY_RECEIVED|RETRIES_EXCEEDED|incorrect server side|NO_ACTIVE_SESSION"
)
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH.*?different version: ([\d.]+)", re.DOTALL)
_DETAILS = re.compile(r'^\s*details = "(.*)"$', re.MULTILINE)
_REPEATED = r"\[RETRIES_EXCEEDED\]"  # a warning that the client logs in addition to its error
_NO_PACKAGE = re.compile(r"PACKAGE_NOT_INSTALLED\] (\w+)|No module named '(\w+)'")


@dataclass(frozen=True)
class Server:
    """A Spark Connect server; `url` is its connection string, which may contain a token, and must never be printed."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        return re.split(r"[/;?#]", self.url.removeprefix("sc://"), maxsplit=1)[0].rpartition("@")[2]

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS, or stays on this host."""
        host = str(self).rpartition(":")[0] or str(self)
        return "use_ssl=true" in self.url.lower().split(";")[1:] or host in {"localhost", "127.0.0.1", "[::1]"}


def session_id(name: str, secret: str) -> str:
    """Return the id of an application's session, which any process with the window's secret can compute to end it.

    The secret distinguishes windows of the same name in different ledgers.
    """
    return str(uuid.UUID(derived(secret, name)[:32], version=4))


def connect(server: Server, identity: str) -> SparkSession:
    """Return a new session with this id, after the server has answered.

    Raises:
        OptionsError: when this Python lacks what a client needs, or the server refuses the client, or is too old.
        SparkJobError: when there is no server, it hangs, or the session was ended before it was opened.
    """
    session, found = client_of(server, identity), list[str]()
    with _naming(server):
        if not within(_ANSWER_S, lambda: found.append(session.version)):
            abandon(session)
            msg = f"no answer within {_ANSWER_S:g} s"
            raise TimeoutError(msg)
    be_patient(session, _RUNNING)
    with ExitStack() as refused:
        refused.callback(release, session)
        _check_version(session, server, found[0])
        refused.pop_all()
    return session


def _check_version(session: SparkSession, server: Server, theirs: str) -> None:
    """Refuse a server that is too old, in general or for this client, which may ask for settings that it lacks."""
    import pyarrow as pa  # noqa: PLC0415 - DAG files import this module
    import pyspark  # noqa: PLC0415

    if _minor(theirs) < _OLDEST:
        msg = f"the Spark Connect server at {server} has Spark {theirs}; use a server of Spark 4.0 or newer"
        raise OptionsError(msg)
    if _minor(theirs) < _minor(pyspark.__version__):
        try:
            session.createDataFrame(pa.table({"number": [0]}))
        except Exception as error:
            msg = (
                f"PySpark {pyspark.__version__} does not work with the Spark Connect server at {server}, which has"
                f" Spark {theirs} ({reason_of(error)}); install"
                f" pyspark-client=={theirs.rpartition('.')[0]}.* here, or use a newer server"
            )
            raise OptionsError(msg) from error


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def client_of(server: Server, identity: str) -> SparkSession:
    """Return a client of the session with this id, without a call to the server.

    Raises:
        OptionsError: when this Python lacks what a client needs, or mixes versions of it, or the address is invalid.
    """
    require_pyspark({})
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # nothing here uses pandas
    try:
        from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 - an extra
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415
    except ImportError as error:
        msg = (
            f"Spark Connect needs pyspark-client or pyspark[connect] ({error}); install it with"
            " `pip install 'airflow-provider-blockread[connect]'`"
        )
        raise OptionsError(msg) from error
    try:
        builder = DefaultChannelBuilder(server.url)
    except Exception:  # noqa: BLE001 - PySpark's own repeats the address, which may contain a token
        msg = f"{server} is not the address of a Spark Connect server; write it as sc://host:port"
        raise OptionsError(msg) from None
    if not hasattr(builder, "keepalive_enabled"):
        for name, value in _KEEPALIVE.items():
            builder.setChannelOption(name, value)
    builder.set(builder.PARAM_SESSION_ID, identity)
    builder.set(builder.PARAM_USER_ID, builder.userId or USER)
    session = SparkSession(builder)
    be_patient(session, _OPENING)
    return session


def be_patient(session: SparkSession, retries: int) -> None:
    """Set how often calls of a session are retried while the server cannot be reached."""
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415

    session.client.set_retry_policies([DefaultPolicy(max_retries=retries, max_backoff=_MAX_BACKOFF_MS)])


def equip(session: SparkSession, server: Server, conf: Mapping[str, str], files: Iterable[str]) -> None:
    """Send a session its configuration and the Python files that its tasks need, and check the server's Python.

    Raises:
        OptionsError: naming what the server refuses or lacks.
    """
    for key, value in conf.items():
        try:
            session.conf.set(key, value)
        except Exception as error:
            msg = f"the Spark Connect server at {server} does not take {key} from a session ({reason_of(error)}); "
            raise OptionsError(msg + "set it on the server, and leave it out of conf") from error
    for file in files:
        try:
            session.addArtifacts(file, pyfile=True)
        except Exception as error:
            if is_lost(error):
                raise
            msg = (
                f"py_files: {file} cannot be sent to the Spark Connect server ({reason_of(error)}); correct the path or"
                " rename the file"
            )
            raise OptionsError(msg) from error
    _check_python(session, server)


def _check_python(session: SparkSession, server: Server) -> None:
    """Run a small task, which also starts the Python of the session's later ones."""
    ours = "{}.{}".format(*sys.version_info)
    try:
        [row] = session.range(1, numPartitions=1).mapInArrow(probe, FOUND).toArrow().to_pylist()
    except Exception as error:
        text = str(error)
        if other := _OTHER_PYTHON.search(text):
            raise _other_python(server, other[1], ours) from error
        if missing := _NO_PACKAGE.search(text):
            raise _lacks(server, (missing[1] or missing[2]).lower()) from error
        raise
    found = json.loads(row["found"])
    if found["python"] != ours:
        raise _other_python(server, found["python"], ours)
    if found["missing"]:
        raise _lacks(server, ", ".join(found["missing"]))


def _other_python(server: Server, theirs: str, ours: str) -> OptionsError:
    return OptionsError(
        f"the Spark Connect server at {server} runs Python {theirs}, and this is Python {ours}; start the server with"
        f" PYSPARK_PYTHON set to a Python {ours}"
    )


def _lacks(server: Server, packages: str) -> OptionsError:
    return OptionsError(
        f"the Python of the Spark Connect server at {server} lacks {packages}; install it on the server's driver and"
        " executors"
    )


def release(session: SparkSession) -> None:
    """End a session and whatever runs in it; if the server cannot be reached, it ends the session itself later."""
    be_patient(session, 1)
    with suppress(Exception):
        warnings.filterwarnings("ignore", _REPEATED)
        session.client.release_session()
    with suppress(Exception):
        session.client.close()


def abandon(session: SparkSession) -> None:
    """End hanging calls of a session, so that they do not keep this process from ending."""
    session.client._channel.close()  # noqa: SLF001 - close() waits for them


class Call(threading.Thread):
    """A call in a thread of its own, from now on; it does not keep the process from ending."""

    def __init__(self, work: Callable[[], object], *, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self.failed: Exception | None = None  # the error that the call raised
        self.start()

    def run(self) -> None:
        """Run the call, as the thread does."""
        try:
            self._work()
        except Exception as error:  # noqa: BLE001 - for whoever waits for it
            self.failed = error


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Run `work` in a thread, and return whether it ended within `seconds`; a call that hangs is abandoned.

    Raises:
        Exception: the error that the work raised in time.
    """
    call = Call(work, name="blockread-connect-call")
    call.join(seconds)
    if call.is_alive():
        return False
    if call.failed is not None:
        raise call.failed
    return True


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that Spark is gone: its JVM, the server, or the session on it.

    Text from a task never counts, and neither do errors of connections other than Spark's own.
    """
    if isinstance(error, ConnectionError):
        names = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
        packages = [name.partition(".")[0] for name in names]
        return [name for name in packages if name not in sys.stdlib_module_names][-1:] in (["py4j"], ["pyspark"])
    cls = type(error)
    if not cls.__module__.startswith("pyspark.errors.") or cls.__name__ == "PythonException":
        return False
    code = getattr(error, "getGrpcStatusCode", lambda: None)()
    return getattr(code, "name", "") == "UNAVAILABLE" or _GONE.search(str(error)) is not None


def reason_of(error: Exception) -> str:
    """Return the reason for the error of a call to the server, in one line."""
    text = str(error).strip()
    details = _DETAILS.search(text)
    return details[1] if details else text.partition("\n")[0].strip()


@contextmanager
def _naming(server: Server) -> Iterator[None]:
    """Name the server in errors of the first call to it."""
    try:
        warnings.filterwarnings("ignore", _REPEATED)
        yield
    except Exception as error:
        code = getattr(getattr(error, "getGrpcStatusCode", lambda: None)(), "name", "")
        if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
            msg = f"the Spark Connect server at {server} refuses this client: {reason_of(error)}; correct its token"
            raise OptionsError(msg) from error
        if "SESSION_CLOSED" in str(error):
            msg = f"a later attempt has ended the session on the Spark Connect server at {server}; retry to begin again"
            raise SparkJobError(msg) from error
        msg = f"no Spark Connect server answers at {server}: {reason_of(error)}; start it, or check address and use_ssl"
        raise SparkJobError(msg) from error
