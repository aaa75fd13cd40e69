"""Helper processes that do a trigger's work, so that a slow store or ledger never blocks the triggerer's event loop.

Threads are not enough: Python runs one at a time, and one that listed files blocked the loop for 0.3 s on a busy host.
A helper does not import Airflow. It receives the access to ledger and stores on its standard input, and ends when that
is closed, so it never outlives the triggerer. It inherits the environment of a Spark driver, since on Spark Connect it
is one: functions and formats of users run in it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from airflow_provider_blockread.errors import TransientError, from_fields
from airflow_provider_blockread.hooks.driver_environment import inherited

#: Helpers of one triggerer that work at the same time on requests of one lane; further requests wait.
MOST = 2
#: Seconds after which work of a lane no longer counts as one of them, since a dead mount can hang for hours.
LONG_S = 60.0
#: Lanes of requests, which never wait for other lanes: a stop does not wait for heartbeats, and none for a listing,
#: which is in the lane `look`.
LANES = {"stop": "stop", "end": "stop", "wait": "wait", "hint": "watch", "since": "watch"}
#: Seconds that a helper may take for a request of a lane, since one that hangs holds up the others.
LONGEST_S = {"stop": 120.0, "wait": 120.0, "watch": 600.0, "look": 14_400.0}
#: Helpers of one triggerer that each do one long piece of work, alone or in one lane; further work waits for its turn.
MOST_ALONE = 8
#: Seconds that a helper has for stopping its work.
LEAVING_S = 30.0
#: Seconds that stopping work on behalf of a person may take: below the 30 s that Airflow gives `on_kill`.
ON_KILL_S = 25.0
_LONGEST_LINE = 2**20
_FURTHER = ("PG*", "PYICEBERG_*")  # of the libraries that connect to ledgers and catalogs
_PROGRAM = "airflow_provider_blockread.steps.watch.serving"
_ROOT = Path(__file__).resolve().parents[2]


class _Helper:
    """One helper process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, environment: Iterable[str] = ()) -> _Helper:
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        pipe = asyncio.subprocess.PIPE
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _PROGRAM),
                stdin=pipe,
                stdout=pipe,
                limit=_LONGEST_LINE,
                env=inherited(os.environ, (*_FURTHER, *environment)) | {"PYTHONPATH": path},
            )
        )
        try:
            return cls(await asyncio.shield(starting))
        except OSError as error:
            msg = f"the triggerer cannot start a helper process: {error}; try again"
            raise TransientError(msg) from error
        except asyncio.CancelledError:  # while a process is starting, asyncio itself may wait for it forever
            with suppress(OSError):
                await cls(await starting).end()
            raise

    @property
    def lives(self) -> bool:
        return self._process.returncode is None

    async def ask(self, request: dict[str, Any], log: Callable[[str], None]) -> dict[str, Any] | None:
        """Return the answer, or None if the process has ended."""
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            return None
        try:
            requests.write(f"{json.dumps(request)}\n".encode())
            await requests.drain()
        except (BrokenPipeError, ConnectionResetError):
            return None
        while line := await answers.readline():
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:  # it was killed while it wrote the line
                return None
            if "log" not in message:
                return message
            log(message["log"])
        return None

    async def leave(self) -> None:
        """Let the process stop its work and end; kill it if that takes too long."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), LEAVING_S)
        await self.end()

    async def end(self) -> None:
        """Kill the process if it is alive, and close its pipes; do not wait for one that a dead disk keeps."""
        if self.lives:
            self._process.kill()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.communicate(), LEAVING_S)


@asynccontextmanager
async def _deadline(longest_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(longest_s):
            yield
    except TimeoutError as error:
        msg = (
            f"a helper process of the triggerer was killed, since its store or ledger did not answer in {longest_s:g}"
            " s; try again"
        )
        raise TransientError(msg) from error


class _Turns:
    """The turns of one lane: `MOST` at a time, beside work that takes long, and no more than `MOST_ALONE` in all."""

    def __init__(self) -> None:
        self._short, self._all = asyncio.Semaphore(MOST), asyncio.Semaphore(MOST_ALONE)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        async with self._all:
            await self._short.acquire()
            with ExitStack() as turn:
                turn.callback(self._short.release)
                late = asyncio.get_running_loop().call_later(LONG_S, turn.close)
                try:
                    yield
                finally:
                    late.cancel()


class _Helpers:
    """The helpers of one event loop, which are kept while they are in use."""

    def __init__(self) -> None:
        self._idle: list[_Helper] = []
        self._lanes: defaultdict[str, _Turns] = defaultdict(_Turns)
        self.alone = asyncio.Semaphore(MOST_ALONE)
        self._users = 0

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            while self._idle and not self._users:
                await self._idle.pop().end()

    async def ask(self, request: dict[str, Any], log: Callable[[str], None]) -> dict[str, Any] | None:
        lane = LANES.get(request["do"], "look")
        async with self.used(), self._lanes[lane].one(), _deadline(LONGEST_S[lane]):
            while self._idle:
                helper = self._idle.pop()
                if helper.lives and (found := await self._ask(helper, request, log)) is not None:
                    return found
            return await self._ask(await _Helper.start(), request, log)

    async def _ask(self, helper: _Helper, request: dict[str, Any], log: Callable[[str], None]) -> dict[str, Any] | None:
        found = None
        try:
            found = await helper.ask(request, log)
        finally:
            if found is None:  # cancelled, or the process has ended
                await helper.end()
            else:
                self._idle.append(helper)
        return found


_HELPERS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Helpers] = WeakKeyDictionary()


def _helpers() -> _Helpers:
    return _HELPERS.setdefault(asyncio.get_running_loop(), _Helpers())


def kept() -> AbstractAsyncContextManager[None]:
    """Return a context that keeps helpers alive between requests, since starting one takes a second or two."""
    return _helpers().used()


async def ask(request: dict[str, Any], log: Callable[[str], None]) -> dict[str, Any]:
    """Return a helper's answer to a request of `steps.watch.serving`; cancelling it kills the helper.

    Raises:
        BlockReadError: as raised by the work.
        TransientError: when the helper was killed, also because the request took too long.
    """
    return _answer(await _helpers().ask(request, log))


async def ask_alone(
    request: Callable[[], Awaitable[dict[str, Any]]], log: Callable[[str], None], *, environment: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the answer of a separate helper, for long work; cancelling this makes the helper stop its work.

    Args:
        request: makes the request of `steps.watch.serving` when it is this work's turn, as credentials may expire.
        log: receives the helper's log lines.
        environment: names and patterns of variables that it inherits in addition to the usual ones.

    Raises:
        BlockReadError: as raised by the work.
        TransientError: when the helper was killed.
    """
    async with _helpers().alone:
        helper = await _Helper.start(environment)
        try:
            found = await helper.ask(await request(), log)
        finally:
            await to_its_end(helper.leave(), within_s=2 * LEAVING_S)
    return _answer(found)


def _answer(found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        msg = "the helper process of the triggerer ended in its work, perhaps for lack of memory; try again"
        raise TransientError(msg)
    if "error" in found:
        raise from_fields(found)
    answer: dict[str, Any] = found["answer"]
    return answer


async def to_its_end(work: Coroutine[Any, Any, None], *, within_s: float) -> None:
    """Let work finish although Airflow, while stopping the trigger, cancels it repeatedly, once a second."""
    task = asyncio.create_task(work)
    deadline = asyncio.get_running_loop().time() + within_s
    while not task.done() and (left := deadline - asyncio.get_running_loop().time()) > 0:
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task], timeout=left)
    if not task.done():
        task.cancel()
    await task
