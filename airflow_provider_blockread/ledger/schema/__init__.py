"""The ledger's tables: the stored format, and the conversion of rows to values."""
