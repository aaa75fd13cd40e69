"""Watching a source: new files are recorded as they arrive, for sensors and triggers."""
