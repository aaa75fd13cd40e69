"""One module per page: it queries the ledger and the work area, and fills a template."""
