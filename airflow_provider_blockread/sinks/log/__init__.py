"""The log of a directory, through which readers see whole windows."""
