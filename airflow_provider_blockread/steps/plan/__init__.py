"""Plan: choose files, cut and pack them, and freeze the window; or replay a window that was planned before."""
