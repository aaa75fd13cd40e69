"""An SFTP server without extensions and without a shell; run as a program, it prints its port."""

from __future__ import annotations

import asyncio

import asyncssh
from asyncssh.sftp import SFTPServerHandler


class AnybodysServer(asyncssh.SSHServer):
    """Lets everybody in."""

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002 - as asyncssh calls it
        """Ask for nothing."""
        return False


async def serve() -> None:
    """Serve the files of this host until the program is ended."""
    SFTPServerHandler._extensions = []
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.create_server(AnybodysServer, "127.0.0.1", 0, server_host_keys=[key], sftp_factory=True)
    print(server.get_port(), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
