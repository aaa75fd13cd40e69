"""Sinks: where records go. Groups write files; publishing brings those to readers that a proof has accepted."""
