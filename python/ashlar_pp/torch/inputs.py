"""Inputs of a step by micro-batch: whole batches are split, lists of micro-batches are
taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten


class Batch:
    """Positional and keyword inputs, and targets (None: none), by micro-batch. is_cut:
    whether a whole batch was split.
    """

    def __init__(
        self,
        args: list[tuple[Any, ...]],
        kwargs: list[dict[str, Any]],
        targets: list[Any] | None,
        is_cut: bool,
    ) -> None:
        self.args, self.kwargs, self.targets, self.is_cut = (
            args,
            kwargs,
            targets,
            is_cut,
        )


def split(
    count: int,
    chunks: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    target: Any,
    arg_mbs: Any,
    kwarg_mbs: Any,
    target_mbs: Any,
    *,
    equal: bool = True,
) -> Batch:
    """Splits a batch into `count` micro-batches along dimension 0, each into `chunks`
    along dimension 1.

    Tensors are split; other objects go to each. equal: micro-batches must have one
    size. Lists of micro-batches (of chunks, if there are several) exclude whole
    batches, as in PyTorch. Raises TypeError or ValueError for other inputs.
    """
    if arg_mbs is None and kwarg_mbs is None and target_mbs is None:
        must_divide([*args, kwargs, target], count, chunks, equal)
        all_args: list[Any] = [()] * count
        all_kwargs: list[Any] = [{}] * count
        if args or kwargs:
            all_args, all_kwargs = split_args_kwargs_into_chunks(args, kwargs, count)
        targets = None if target is None else _pieces(target, count, 0)
        if chunks > 1:
            all_args, all_kwargs = (
                _chunks_of(all_args, chunks),
                _chunks_of(all_kwargs, chunks),
            )
            targets = None if targets is None else _chunks_of(targets, chunks)
        return Batch(all_args, all_kwargs, targets, True)
    for name, given, instead in [
        ("positional inputs", args, "arg_mbs"),
        (f"the keyword inputs {', '.join(sorted(kwargs))}", kwargs, "kwarg_mbs"),
        ("target", () if target is None else (target,), "target_mbs"),
    ]:
        if given:
            raise ValueError(
                f"inputs come in micro-batches here: give {name} as {instead}"
            )
    total = count * chunks
    return Batch(
        _micro_batches("arg_mbs", arg_mbs, total, tuple) or [()] * total,
        _micro_batches("kwarg_mbs", kwarg_mbs, total, dict) or [{}] * total,
        _micro_batches("target_mbs", target_mbs, total, None),
        False,
    )


def _micro_batches(
    name: str, given: Any, count: int, kind: type | None
) -> list[Any] | None:
    if given is None:
        return None
    if not isinstance(given, (list, tuple)):
        raise TypeError(
            f"{name} must be a list with one entry for each micro-batch, not "
            f"{type(given).__name__}"
        )
    if len(given) != count:
        raise ValueError(
            f"{name} has {len(given)} entries, and the schedule {count} micro-batches"
        )
    for k, one in enumerate(given):
        if kind is not None and not isinstance(one, kind):
            raise TypeError(
                f"{name}[{k}] must be a {kind.__name__}, not {type(one).__name__}"
            )
    return list(given)


def must_divide(values: Any, count: int, chunks: int, equal: bool) -> None:
    """Raises ValueError for values that cannot be split into micro-batches."""
    for leaf in tree_leaves(tuple(values), is_leaf=_is_plain_list):
        if not isinstance(leaf, torch.Tensor):
            if getattr(leaf, "ndim", 0) > 0 or (
                _is_plain_list(leaf) and len(leaf) >= count > 1
            ):
                what = (
                    f"a list of {len(leaf)}"
                    if isinstance(leaf, list)
                    else f"a {type(leaf).__name__}"
                )
                raise ValueError(
                    f"{what} is not cut in micro-batches, and each would get the "
                    "whole: give tensors, or micro-batches"
                )
            continue
        is_divided = leaf.dim() > 0 and (
            leaf.shape[0] % count == 0 if equal else leaf.shape[0] >= count
        )
        if chunks > 1:
            is_divided = is_divided and leaf.dim() > 1 and leaf.shape[1] % chunks == 0
        if not is_divided:
            of_chunks = f" of {chunks} chunks" if chunks > 1 else ""
            raise ValueError(
                f"a batch of shape {tuple(leaf.shape)} has no "
                f"{count}{' equal' if equal else ''} micro-batches{of_chunks}"
            )


def _is_plain_list(value: Any) -> bool:
    """Whether the value is a list without tensors, such as labels or texts for each
    row.
    """
    return isinstance(value, list) and not any(
        isinstance(leaf, torch.Tensor) for leaf in tree_leaves(value)
    )


def must_have_rows_of(output: Any, target: Any) -> None:
    """Raises ValueError if a target has one row and the output several: a loss would
    broadcast the row, but not those of the whole batch.
    """
    both = isinstance(output, torch.Tensor) and isinstance(target, torch.Tensor)
    if (
        both
        and output.dim() == target.dim() > 0
        and target.shape[0] == 1 < output.shape[0]
    ):
        raise ValueError(
            "the target has one row for each micro-batch, and the output "
            f"{output.shape[0]}: give as many rows as the inputs have, "
            "or target_mbs"
        )


def _pieces(value: Any, count: int, dim: int) -> list[Any]:
    leaves, spec = tree_flatten(value)
    split = [
        x.tensor_split(count, dim) if isinstance(x, torch.Tensor) else [x] * count
        for x in leaves
    ]
    return [tree_unflatten([one[k] for one in split], spec) for k in range(count)]


def _chunks_of(values: Sequence[Any], chunks: int) -> list[Any]:
    return [piece for value in values for piece in _pieces(value, chunks, 1)]


def merge(outputs: dict[int, Any], chunks: int) -> Any:
    """Joins the outputs of micro-batches along dimension 0 (chunks of sequences along
    dimension 1).
    """
    order = sorted(outputs)
    sequences = [
        _joined([outputs[k + j] for j in range(chunks)], 1) for k in order[::chunks]
    ]
    return _joined(sequences, 0)


def _joined(values: list[Any], dim: int) -> Any:
    """Joins values along a dimension; leaves that are no tensors, or lack the
    dimension, become lists.
    """
    if len(values) == 1 and dim == 1:
        return values[0]
    flat = [tree_flatten(value) for value in values]
    columns = zip(*(leaves for leaves, _ in flat))
    joined = [
        torch.cat(one, dim=dim)
        if isinstance(one[0], torch.Tensor) and one[0].dim() > dim
        else list(one)
        for one in columns
    ]
    return tree_unflatten(joined, flat[0][1])
