"""What one task of a job does: it reads its blocks and writes the sink's files."""
