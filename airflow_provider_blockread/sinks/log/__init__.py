"""The log of a directory, from which readers see whole windows."""
