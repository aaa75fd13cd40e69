"""Read: infer columns, scan where a format needs it, and run a group's Spark application."""
