"""`spark.read.format("blockread")`: the package's record formats in any PySpark session; no ledger, no sink."""
