"""A Spark driver and the process that started it: the lines that the driver prints for it, and their common end."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time

#: The prefix of a driver's own lines, which are mixed with those of Spark.
OWN_LINE = "blockread: "
#: The prefix of the line with the driver's error.
ERROR_LINE = f"{OWN_LINE}Error: "


def end_with_parent() -> bool:
    """End this process, together with Spark, when the process that started it is gone: its work is fenced by then.

    BLOCKREAD_PARENT names the parent as `host:pid`; on another host it is not watched. BLOCKREAD_FOLDER is the parent's
    private folder, which is then removed. Returns whether the parent is watched.
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
