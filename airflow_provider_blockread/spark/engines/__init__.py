"""Engines: where a job's tasks run, behind one small protocol."""
