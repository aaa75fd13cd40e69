"""Plan: choose files, cut and pack them, and freeze the window; or replay a window planned before."""
