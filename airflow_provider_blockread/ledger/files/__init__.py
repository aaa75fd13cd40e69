"""Files of a feed: what listings found, what is known of them, and what was cleaned from the source."""
