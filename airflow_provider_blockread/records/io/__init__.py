"""Reading the bytes of a file: exact reads, and compressed files as streams of decoded bytes."""
