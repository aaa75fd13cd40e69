"""Parameters of libpq, for connections to a ledger and to PostgreSQL tables; those of a URL take precedence."""

from __future__ import annotations

#: A server that is gone without a word is noticed after two minutes, when others take over this process's work; the
#: system itself would wait for a quarter of an hour, or for two hours.
PARAMETERS = {
    "connect_timeout": 10,  # seconds, as are the next two
    "keepalives_idle": 30,
    "keepalives_interval": 15,
    "keepalives_count": 6,
    "tcp_user_timeout": 120_000,  # milliseconds
}
