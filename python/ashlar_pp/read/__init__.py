"""Readers of models and launches, by the frameworks' own code: `python -m
ashlar_pp.read`."""
