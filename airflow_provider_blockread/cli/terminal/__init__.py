"""What commands share of the terminal: printing, signals, and quiet start-ups."""
