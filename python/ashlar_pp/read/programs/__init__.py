"""A program of one's own, run up to its training."""
