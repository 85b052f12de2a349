"""Says what to ask, of whom, and how answers read."""
