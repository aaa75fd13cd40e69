"""The ledger's tables: the stored format, and how rows become values."""
