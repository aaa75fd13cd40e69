"""How the rows of columnar files are arranged: how they are partitioned, sorted and encoded."""
