"""DataFrame functions and SQL: records are staged, proven and read as a DataFrame, and the result is written."""
