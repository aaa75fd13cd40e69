"""JSON: lines and arrays, their elements, and the columns of a schema."""
