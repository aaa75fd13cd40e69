"""How the rows of columnar files are arranged: by what of them they are kept apart, and in which order they are."""
