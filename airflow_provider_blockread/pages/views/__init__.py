"""One module a page: it asks the ledger and the work area, and fills a template."""
