"""`blockread ui`: the pages on loopback, without Airflow."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

import click

from airflow_provider_blockread.cli.options.shared import open_environment, state_option
from airflow_provider_blockread.cli.terminal.interrupts import Interrupted
from airflow_provider_blockread.cli.terminal.printing import say
from airflow_provider_blockread.errors import OptionsError

HOST = "127.0.0.1"


@click.command()
@click.option("--port", default=8793, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@state_option
def ui(port: int, state: str | None) -> None:
    """Show feeds, windows and files in a browser, on this machine and to you only, until Ctrl-C."""
    import uvicorn  # noqa: PLC0415 - no other command serves anything

    from airflow_provider_blockread.pages.serving import loopback_app  # noqa: PLC0415 - as above

    env = open_environment(state, quiet=True)
    listening = _listen(port)
    key = secrets.token_urlsafe()
    config = uvicorn.Config(loopback_app(env, key), host=HOST, port=port, log_level="warning", server_header=False)
    with listening:
        listening.listen(config.backlog)  # whoever reads the line below may connect at once
        address = f"http://{HOST}:{listening.getsockname()[1]}/?key={key}"
        say(f"Pages of ledger {env.ledger.name} on {address} until Ctrl-C")
        with suppress(Interrupted):  # the documented end
            uvicorn.Server(config).run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        msg = f"port {port} cannot be used ({error.strerror}); give another --port, or 0 for a free one"
        raise OptionsError(msg) from error
    return listening
