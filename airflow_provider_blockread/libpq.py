"""Parameters of libpq, for connections to a ledger and to PostgreSQL tables."""

from __future__ import annotations

#: For what a URL does not say. A server that is gone without a word is noticed after two minutes, when others take over
#: this process's work; the system itself would wait for a quarter of an hour, or for two hours.
PARAMETERS = {
    "connect_timeout": 10,  # seconds, as are the next two
    "keepalives_idle": 30,
    "keepalives_interval": 15,
    "keepalives_count": 6,
    "tcp_user_timeout": 120_000,  # milliseconds
}
#: Whatever a URL says. Text is sent in UTF-8; the server would otherwise take it for text in the encoding of the
#: database, the role or the environment, and store other characters.
ENCODING = {"client_encoding": "UTF8"}
