"""Random numbers of a step: from one seed, the same for every schedule and every number
of ranks.

Each call of a layer draws from a stream of its own, and so does the model's own forward
between two calls. A stream is numbered by the seed, the step, the micro-batch and the
call, so it does not matter which rank runs what, or when.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import random
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from .guards import is_compiled


def _itself(hook: Any) -> Any:
    return hook


Restore = Callable[[], None]

_PATH = struct.Struct("<4q")

_POSITION = 4 * 624
"""Place of the position in NumPy's Mersenne Twister, after its words."""


def kept_states(device: torch.device | None = None) -> Restore:
    """Returns a function that restores the current states of PyTorch's generators on
    host and device.
    """
    host = torch.get_rng_state()
    if device is None or device.type != "cuda":
        return lambda: torch.set_rng_state(host)
    place, on_device = device, torch.cuda.get_rng_state(device)

    def restore() -> None:
        torch.set_rng_state(host)
        torch.cuda.set_rng_state(on_device, place)

    return restore


def torch_states(device: torch.device) -> tuple[bytes, ...]:
    """States of PyTorch's generators, as bytes to compare."""
    found = [torch.get_rng_state()]
    if device.type == "cuda":
        found.append(torch.cuda.get_rng_state(device))
    return tuple(one.numpy().tobytes() for one in found)


@contextlib.contextmanager
def kept_of_torch(device: torch.device) -> Iterator[None]:
    """Restores PyTorch's global generators at its end."""
    restore = kept_states(device)
    try:
        yield
    finally:
        restore()


@contextlib.contextmanager
def kept_generators(device: torch.device) -> Iterator[None]:
    """Restores the global generators of PyTorch, Python and NumPy at its end."""
    restore, python = kept_states(device), random.getstate()
    numpy = sys.modules.get("numpy")
    of_numpy = None if numpy is None else numpy.random.get_state()
    try:
        yield
    finally:
        restore()
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(of_numpy)


def python_positions() -> tuple[Any, ...]:
    """Positions of Python's and NumPy's generators, which every draw moves."""
    return random.getstate()[1][-1], _position_of_numpy()


def _position_of_numpy() -> Any:
    """None without NumPy. Read in NumPy's memory, as its C interface lays it out: its
    own functions copy all of the state, word by word.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return None
    bits: Any = getattr(numpy.random, "get_bit_generator", lambda: None)()
    if type(bits) is not numpy.random.MT19937:
        return repr(numpy.random.get_state(legacy=False))
    return ctypes.c_int.from_address(bits.ctypes.state_address + _POSITION).value


class Streams:
    """Seeds the global generators for one micro-batch of one step. Copies of the
    pipeline, with other data, draw others.
    """

    def __init__(self, seed: int, copy: int, device: torch.device) -> None:
        self.seed, self.step, self.micro_batch = seed, 0, 0
        self.trained = 0
        """Number of steps that have trained."""
        self._copy, self._device = copy, device
        self.seeds_python = True
        """Whether Python's and NumPy's generators are seeded, too, which takes longer
        than all else here.
        """
        self._positions: tuple[Any, ...] | None = None
        self._draws_python = False
        self._path: tuple[int, ...] = ()
        self._base = 0  # the hash of this path

    def _draw_from(self, stream: int) -> None:
        path = self.seed, self._copy, self.step, self.micro_batch
        if path != self._path:
            digest = hashlib.blake2b(_PATH.pack(*path), digest_size=8).digest()
            self._path, self._base = path, int.from_bytes(digest, "little") >> 1
        number = self._base + stream
        torch.default_generator.manual_seed(number)
        if self._device.type == "cuda":
            place = self._device.index or 0
            torch.cuda.default_generators[place].manual_seed(number)
        if self.seeds_python:
            self._look_at_python()
            random.seed(number)
            if (numpy := sys.modules.get("numpy")) is not None:
                numpy.random.seed(number & 0xFFFFFFFF)
            if self._positions is not None:
                self._positions = python_positions()

    def _look_at_python(self) -> None:
        if self._positions is not None and self._positions != python_positions():
            self._draws_python = True

    @contextlib.contextmanager
    def watching_python(self) -> Iterator[Callable[[], bool]]:
        """Gives a function that tells whether anything inside has drawn from Python's
        or NumPy's generator.
        """
        self.seeds_python, self._draws_python = True, False
        self._positions = python_positions()

        def drew() -> bool:
            self._look_at_python()
            return self._draws_python

        try:
            yield drew
        finally:
            self._positions = None

    def of_layer(self, call: int) -> None:
        self._draw_from(2 * call)

    def after_call(self, call: int) -> None:
        """Seeds for the model's own draws after a call; -1 is before the first."""
        self._draw_from(2 * call + 3)

    @contextlib.contextmanager
    def in_whole_model(self, layers: Mapping[str, nn.Module]) -> Iterator[None]:
        """Inside, one call of an unpiped model draws what the pipeline draws for this
        micro-batch.

        layers: the pipeline's layers in that model, by name.
        """
        calls: list[int] = []  # running calls, the innermost last
        count = 0

        def comes(*_: Any) -> None:
            nonlocal count
            calls.append(count)
            count += 1
            self.of_layer(calls[-1])

        def goes(*_: Any) -> None:
            self.after_call(calls.pop())

        # a rank whose own layers draw nothing of Python's seeds nothing
        seeded, self.seeds_python = self.seeds_python, True
        with contextlib.ExitStack() as stack, kept_generators(self._device):
            stack.callback(setattr, self, "seeds_python", seeded)
            for module in {id(one): one for one in layers.values()}.values():
                plain = torch.compiler.disable if is_compiled(module) else _itself
                stack.callback(
                    module.register_forward_pre_hook(plain(comes), prepend=True).remove
                )
                stack.callback(
                    module.register_forward_hook(plain(goes), always_call=True).remove
                )
            self.after_call(-1)
            yield


class RandomState:
    """What the random numbers of the next steps depend on, for
    torch.distributed.checkpoint.
    """

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def state_dict(self) -> dict[str, int]:
        return {"seed": self._streams.seed, "steps": self._streams.trained}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self._streams.seed, self._streams.trained = state["seed"], state["steps"]
