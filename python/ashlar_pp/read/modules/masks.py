"""What a query of attention sees, read from its mask."""

from __future__ import annotations

from dataclasses import dataclass

import torch

# A mask adds at most this to a score that does not count.
LEAST_ADDED = -9_999
# A mask of all tokens that hides a smaller share hides padding, which counts as seen.
PADDING = 1e-2


@dataclass(frozen=True)
class Seen:
    """`causal`: none after itself; None: not known. `window` and `chunk` in tokens,
    0: none that the mask shows; around a query if it is not causal. `other`: a mask of
    another form."""

    causal: bool | None
    window: int = 0
    chunk: int = 0
    other: bool = False


def opened(mask: torch.Tensor) -> torch.Tensor:
    """Where a mask lets its first sample and head see: it is true, or adds no great
    negative number."""
    open_ = mask.reshape(-1, *mask.shape[-2:])[0]
    if open_.dtype == torch.bool or not open_.dtype.is_floating_point:
        return open_.bool()
    return open_ > LEAST_ADDED


def seen_by(
    mask: torch.Tensor | None, is_causal: bool, queries: int, keys: int
) -> Seen:
    """Reads a mask of scaled_dot_product_attention: booleans, or what is added.

    A window or chunk that is not shorter than the sequence is not seen.
    """
    if mask is None:
        return Seen(causal=is_causal)
    open_ = opened(mask).expand(queries, keys)
    if is_causal:
        open_ = open_ & torch.ones_like(open_).tril()
    if bool(open_.all()):
        return Seen(causal=False)
    at = torch.arange(keys)
    ahead = bool((open_ & (at[None, :] > torch.arange(queries)[:, None])).any())
    if queries == keys and ahead:
        return _seen_around(open_)
    if queries != keys:
        return Seen(causal=False, other=True)
    return _seen_behind(open_)


def _seen_around(open_: torch.Tensor) -> Seen:
    """Of a square mask that is open above its diagonal, but not everywhere."""
    at = torch.arange(open_.shape[0])
    side = int(open_[0].sum()) - 1
    if torch.equal(open_, (at[None, :] - at[:, None]).abs() <= side):
        return Seen(causal=False, window=2 * side + 1)
    if float((~open_).float().mean()) < PADDING:
        return Seen(causal=False)
    return Seen(causal=False, other=True)


def _seen_behind(open_: torch.Tensor) -> Seen:
    """Of a square mask that is closed above its diagonal."""
    length = open_.shape[0]
    whole = torch.ones_like(open_).tril()
    row, column = torch.arange(length)[:, None], torch.arange(length)[None, :]
    if torch.equal(open_, whole):
        return Seen(causal=True)
    window = int(open_[-1].sum())
    if torch.equal(open_, whole & (column > row - window)):
        return Seen(causal=True, window=window)
    chunk = int(open_.sum(1).max())
    if torch.equal(open_, whole & (row // chunk == column // chunk)):
        return Seen(causal=True, chunk=chunk)
    return Seen(causal=True, other=True)
