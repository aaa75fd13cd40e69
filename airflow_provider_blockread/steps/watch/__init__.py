"""Watching a source: what it shows is recorded as it arrives, for sensors and triggers."""
