"""Windows: selected, planned, read by groups, proven, published, and queried."""
