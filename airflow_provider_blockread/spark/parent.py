"""A Spark driver and the process that started it: the lines that it prints for it, and its end with it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time

#: The prefix of a driver's own lines among those of Spark.
OWN_LINE = "blockread: "
#: The prefix of the line with its error.
ERROR_LINE = f"{OWN_LINE}Error: "


def end_with_parent() -> bool:
    """End this process, and Spark with it, when the process that started it is gone: its work is fenced by then.

    BLOCKREAD_PARENT names that process as `host:pid`; on another host it is not watched. BLOCKREAD_FOLDER is its
    private folder, which is removed then. Returns whether that process is watched.
    """
    host, _, pid = os.environ.get("BLOCKREAD_PARENT", "").rpartition(":")
    folder = os.environ.get("BLOCKREAD_FOLDER")
    if not pid or host != socket.gethostname():
        return False

    def watch() -> None:
        while _is_alive(int(pid)):
            time.sleep(1.0)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(143)

    threading.Thread(target=watch, name="blockread-parent-watch", daemon=True).start()
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
