"""JSON: lines, arrays and their elements, and the columns of a schema."""
