"""What pages ask the ledger: sums of feeds, pages of lists, and the life of a file. Nothing here writes."""
