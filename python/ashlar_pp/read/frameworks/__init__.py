"""The readers, a file or a few for each framework."""
