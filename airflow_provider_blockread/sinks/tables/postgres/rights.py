"""The rights that a commit needs, so that an account without them is refused before a window is read."""

from __future__ import annotations

from adbc_driver_postgresql import dbapi

#: Returns the statements that grant this account what it lacks to publish into table $1 of schema $3, whose table of
#: windows is $2, and whether policies hide rows from it. A right on any column passes: the commit knows which it needs.
_LACKS = """
SELECT string_agg(format('GRANT %s ON %s TO %I', needs, place, current_user), '; ' ORDER BY place),
    coalesce(row_security_active(to_regclass($1)), FALSE)
FROM (
    SELECT string_agg(need, ', ') AS needs, place FROM (VALUES
        ('SELECT', $1, has_any_column_privilege(to_regclass($1), 'SELECT')),
        ('INSERT', $1, has_any_column_privilege(to_regclass($1), 'INSERT')),
        ('SELECT', $2, has_table_privilege(to_regclass($2), 'SELECT')),
        ('INSERT', $2, has_table_privilege(to_regclass($2), 'INSERT')),
        ('UPDATE', $2, has_table_privilege(to_regclass($2), 'UPDATE')),
        ('CREATE', 'SCHEMA ' || $3, has_schema_privilege(to_regnamespace($3), 'CREATE')
            OR (to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL)),
        ('CREATE', format('DATABASE %I', current_database()),
            to_regnamespace($3) IS NOT NULL OR has_database_privilege(current_database(), 'CREATE'))
    ) AS needed (need, place, granted) WHERE NOT granted GROUP BY place
) AS lacking"""


def lacking_rights(cursor: dbapi.Cursor, table: str, windows: str, schema: str, *, name: str) -> str:
    """Return in words what keeps this account from publishing, or an empty string if nothing does.

    Args:
        cursor: of a transaction.
        table: the table, quoted.
        windows: the table of windows, quoted.
        schema: the schema of both, quoted.
        name: the table's name in messages.
    """
    cursor.execute(_LACKS, parameters=(table, windows, schema))
    lacks, hides = cursor.fetchone() or (None, False)
    if lacks:
        return f"{name} refuses this account; run {lacks}; and retry"
    if hides:
        return f"{name} hides rows from this account by its policies; give it BYPASSRLS, or use another, and retry"
    return ""
