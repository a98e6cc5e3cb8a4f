"""Every published schedule, as a function of its name: `catalog.v_half`,
`catalog.one_f_one_b`.

With micro-batches, an entry gives its schedule; without, its building block:

    catalog.zb_h1(devices=4) | repeat(8) | squeeze()
    catalog.dualpipe(devices=4, micro_batches=8)
"""

from __future__ import annotations

from typing import Any, overload

from . import _core
from ._core import Block, Costs, Entry, Parameter, Schedule


class Published:
    """A published schedule.

    Args:
        entry (Entry): The entry of the extension.

    Attributes:
        name (str): Its name in the command-line tool.
        summary (str): What it is, in a line.
        source (str): The paper or program that it is of.
        parameters (dict[str, Parameter]): Its parameters, by name.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.name, self.summary, self.source = entry.name, entry.summary, entry.source
        self.parameters: dict[str, Parameter] = {
            one.name: one for one in entry.parameters
        }
        self.__doc__ = (
            f"{self.name}: {self.summary} ({self.source}). Parameters: "
            f"{', '.join(self.parameters) or 'none'}."
        )

    @overload
    def __call__(self, devices: int, **parameters: Any) -> Block: ...
    @overload
    def __call__(
        self,
        devices: int,
        micro_batches: int,
        costs: Costs | None = None,
        **parameters: Any,
    ) -> Schedule: ...

    def __call__(
        self,
        devices: int,
        micro_batches: int | None = None,
        costs: Costs | None = None,
        **parameters: Any,
    ) -> Block | Schedule:
        """Returns the schedule, or without micro-batches the building block. Raises
        Violation for sizes that do not fit.
        """
        if micro_batches is not None:
            return self.entry.schedule(
                devices, micro_batches, costs or Costs(), **self._known(parameters)
            )
        if costs is not None:
            raise TypeError("a block is in units of one pass: give costs to retime()")
        return self.block(devices, **parameters)

    def block(
        self, devices: int, micro_batches: int | None = None, **parameters: Any
    ) -> Block:
        """Returns the building block.

        Args:
            devices (int): At least 1.
            micro_batches (int, optional): For blocks that contain all micro-batches.
            **parameters: Values of the entry's parameters.

        Returns:
            Block: in units of one pass.

        Raises:
            TypeError: if it has no such parameter, or the block needs `micro_batches`.
            Violation: for sizes that do not fit.
        """
        known = self._known(parameters)
        if micro_batches is not None:
            return self.entry.block(devices, micro_batches, **known)
        few, many = (
            self.entry.block(devices, times * max(devices, 1), **known)
            for times in (24, 48)
        )
        if few != many:
            raise TypeError(
                f"the block of {self.name} has all micro-batches: block(devices, "
                "micro_batches)"
            )
        return few

    def values(
        self, parameter: str, devices: int, micro_batches: int, **others: Any
    ) -> list[int] | list[str]:
        """Returns values of a parameter for which there is a schedule.

        Args:
            parameter (str): Its name. Numbers are tried up to the larger of
                both sizes.
            devices (int): At least 1.
            micro_batches (int): At least 1.
            **others: Values of its other parameters.

        Returns:
            list[int] or list[str]: empty if no value fits, or the sizes do not.

        Raises:
            TypeError: if it has no such parameter.
        """
        self._known({parameter: None, **others})
        known = self.parameters[parameter]
        tried: Any = known.values
        if known.least is not None and known.most is not None:
            tried = range(known.least, min(known.most, max(devices, micro_batches)) + 1)
        return [
            v
            for v in tried
            if self.entry.takes(devices, micro_batches, **{parameter: v}, **others)
        ]

    def _known(self, parameters: dict[str, Any]) -> dict[str, Any]:
        for name in parameters:
            if name not in self.parameters:
                raise TypeError(
                    f"{self.name} has no parameter '{name}'; it has: "
                    f"{', '.join(self.parameters) or 'none'}"
                )
        return parameters

    def __repr__(self) -> str:
        return f"<{self.name}: {self.summary}>"


def _python_name(name: str) -> str:
    return "_".join(
        "one_f_one_b" if part == "1f1b" else part for part in name.split("-")
    )


entries: dict[str, Published] = {
    entry.name: Published(entry) for entry in _core.entries()
}
"""Entries by their names in the command-line tool: `entries["1f1b"]`."""

vocabulary_entries: dict[str, Published] = {
    entry.name: Published(entry) for entry in _core.vocabulary_entries()
}
"""Entries in which all devices have a shard of the output layer. Their stages are not
parts of a freely divisible model.
"""

_by_python_name = {
    _python_name(name): published
    for name, published in (entries | vocabulary_entries).items()
}


def find(name: str) -> Published:
    """Returns an entry.

    Args:
        name (str): As in the command-line tool, or another program's.

    Returns:
        Published: the entry.

    Raises:
        ValueError: for an unknown name, with a similar one.
    """
    return (entries | vocabulary_entries)[_core.find(name).name]


def __getattr__(name: str) -> Published:
    try:
        return _by_python_name[name]
    except KeyError:
        raise AttributeError(
            f"the catalog has no '{name}'; it has: {', '.join(_by_python_name)}"
        ) from None


def __dir__() -> list[str]:
    return ["Published", "entries", "find", "vocabulary_entries", *_by_python_name]
