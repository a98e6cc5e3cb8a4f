"""Schedules side by side, as a table."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core, catalog
from ._core import Comparison, Costs, PartCosts, Schedule


class Table:
    """Named rows of numbers. A notebook shows them as a table, print() as text.

    Args:
        rows (list[dict]): Each with the same keys, the first of which is ``schedule``.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def frame(self) -> Any:
        """Returns the table as a pandas frame, by schedule.

        Returns:
            pandas.DataFrame: a row for each schedule.

        Raises:
            ImportError: without pandas.
        """
        import pandas

        return pandas.DataFrame(self.rows).set_index("schedule")

    def _cells(self) -> list[list[str]]:
        def words(value: Any) -> str:
            return (
                ""
                if value is None
                else f"{value:.4g}"
                if isinstance(value, float)
                else str(value)
            )

        heads = [
            head
            for head in (self.rows[0] if self.rows else ())
            if any(row[head] is not None for row in self.rows)
        ]
        return [heads] + [[words(row[head]) for head in heads] for row in self.rows]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            )
            for row in cells
        ]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads, *rows = self._cells()

        def line(cells: list[str], tag: str) -> str:
            return (
                "<tr>"
                + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
                + "</tr>"
            )

        below = "".join(line(row, "td") for row in rows)
        return f"<table>{line(heads, 'th')}{below}</table>"


def _row(name: str, of: Comparison) -> dict[str, Any]:
    least = of.bound()
    return {
        "schedule": name,
        "devices": of.devices,
        "stages": of.stages,
        "makespan": of.makespan,
        "bound": least,
        "gap": None if least is None else of.makespan / least - 1,
        "bubble_rate": of.bubble_rate,
        "overhead": of.overhead,
        "peak_activations": max(of.peaks),
        "weight_copies": of.weight_copies,
        "transfers": of.transfers,
        "exposed_communication": of.exposed_communication,
        "slack": min(of.slacks, default=None),
        "makespan_of_parts": of.makespan_of_parts,
    }


def _cuts_sequences(schedule: str | Schedule) -> bool:
    if isinstance(schedule, Schedule):
        return schedule.sequence_chunks > 1
    return any(one.name == "sequence_chunks" for one in _core.find(schedule).parameters)


def compare(
    schedules: Iterable[str] | Mapping[str, str | Schedule] | None = None,
    *,
    devices: int = 4,
    micro_batches: int = 8,
    costs: Costs | None = None,
    sequence_chunks: int | None = None,
    causal: int | tuple[int, int] | None = None,
    parts: PartCosts | None = None,
) -> Table:
    """Compares schedules for the same model.

    Args:
        schedules (iterable of str or mapping, optional): Names of the catalog, or a
            mapping of names to names and schedules. Default: all schedules of the
            catalog for these sizes.
        devices (int): Default: 4.
        micro_batches (int): Default: 8.
        costs (Costs, optional): Those of a device's share of the model, or one each of
            consecutive parts of it, in ticks; schedules with more or fewer stages take
            their share.
        sequence_chunks (int, optional): Chunks of a sequence in the catalog's schedules
            that cut them. Default: those of the costs, or 2.
        causal (int or tuple[int, int], optional): Percentage of causal attention, for
            which later chunks take longer, in a whole sequence's forward and input
            pass, or a pair of percentages.
        parts (PartCosts, optional): The parts of which `costs` are made; those of pairs
            in schedules with more or fewer stages follow from them.

    Returns:
        Table: `peak_activations` is a share of what 1F1B holds; times are in ticks;
        `slack` is how late all transfers of the least tolerant link may be before the
        makespan grows.

    Raises:
        ValueError: if `causal` has no effect: on whole sequences, or on costs of each
            chunk.
    """
    costs = costs or Costs()
    if sequence_chunks is None:
        sequence_chunks = costs.sequence_chunks if costs.sequence_chunks > 1 else 2
    if schedules is None:
        chosen: Mapping[str, Any] = {name: name for name in catalog.entries}
    elif isinstance(schedules, Mapping):
        chosen = schedules
    else:
        chosen = {name: name for name in schedules}
    if causal is not None and not any(
        _cuts_sequences(schedule) for schedule in chosen.values()
    ):
        raise ValueError(
            f"causal has no effect on {', '.join(chosen)}: sequences are whole there"
        )
    rows = []
    for name, schedule in chosen.items():
        if isinstance(schedule, Schedule):
            rows.append(
                _row(
                    name,
                    _core.compare_schedule(schedule, costs, devices, causal, parts),
                )
            )
            continue
        entry = _core.find(schedule)
        try:
            made = _core.compare_entry(
                entry,
                devices,
                micro_batches,
                costs,
                devices,
                sequence_chunks,
                causal,
                parts,
            )
            rows.append(_row(name, made))
        except _core.Violation:
            if schedules is not None:
                raise
    return Table(rows)
