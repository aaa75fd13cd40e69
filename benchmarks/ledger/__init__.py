"""Listing, planning and the ledger, with many files."""
