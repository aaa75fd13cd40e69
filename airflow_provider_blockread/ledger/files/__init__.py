"""Files of a feed: what listings found, what is known about them, and what was cleaned from the source."""
