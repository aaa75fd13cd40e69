"""DataFrame functions and SQL: records are staged, proven, read as a DataFrame, and what comes out is written."""
