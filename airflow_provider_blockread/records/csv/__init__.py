"""CSV: which newlines end a row, the fields of a row, and the columns of a schema."""
