"""What a script starts: bash by recorders, Python by its syntax."""
