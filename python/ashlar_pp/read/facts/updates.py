"""Training by rewards: one update of the model that generates."""

from __future__ import annotations

from ..run_file import Run


def add_update(run: Run, framework: str, more: str = "") -> None:
    """Says that the run is one update, and what its time and its memory lack."""
    run.notes += [
        f"{framework}: one update of the model that generates, with prompts and "
        f"answers of full length{more}; without generation, rewards and forwards of "
        "other models",
        "what these keep on the same devices, such as a critic, a reference or a cache "
        "of keys, takes memory that is not counted unless a note says so",
    ]
