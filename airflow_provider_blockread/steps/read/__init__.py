"""Read: infer columns, scan if a format needs it, and run a group's Spark application."""
