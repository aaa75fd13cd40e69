"""`blockread ui`: the pages on loopback, without Airflow."""

from __future__ import annotations

import click

from airflow_provider_blockread.cli.options.shared import open_environment, state_option
from airflow_provider_blockread.cli.terminal.printing import say

HOST = "127.0.0.1"


@click.command()
@click.option("--port", default=8793, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@state_option
def ui(port: int, state: str | None) -> None:
    """Show feeds, windows and files in a browser, on this machine only, until Ctrl-C."""
    import uvicorn  # noqa: PLC0415 - no other command serves anything

    from airflow_provider_blockread.pages.serving import loopback_app  # noqa: PLC0415 - as above

    env = open_environment(state, quiet=True)
    config = uvicorn.Config(loopback_app(env), host=HOST, port=port, log_level="warning", server_header=False)
    with config.bind_socket() as listening:
        listening.listen(config.backlog)  # whoever reads the line below may connect at once
        say(f"Pages of ledger {env.ledger.name} on http://{HOST}:{listening.getsockname()[1]}/ until Ctrl-C")
        uvicorn.Server(config).run(sockets=[listening])
