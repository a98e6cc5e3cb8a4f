"""What a forward does, as the parts that tell a model's layers apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .masks import Seen


@dataclass(frozen=True)
class Product:
    """A product of matrices: `copies` times (rows x inner) by (inner x columns).

    `parameter` is the name of the weight, empty for a product of activations. A routed
    weight has `experts` matrices, each of which takes some of the rows.
    """

    module: str
    rows: int
    inner: int
    columns: int
    copies: int = 1
    parameter: str = ""
    experts: int = 0

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.inner * self.columns * self.copies


@dataclass(frozen=True)
class Attention:
    """Softmax attention; `groups` are heads of keys, `seen` is what its mask lets a
    query see."""

    module: str
    batch: int
    heads: int
    groups: int
    queries: int
    keys: int
    head: int
    value_head: int
    seen: Seen
    cross: bool = False

    @property
    def operations(self) -> int:
        """Those of both products, masked scores included."""
        scores = self.batch * self.heads * self.queries * self.keys
        return 2 * scores * (self.head + self.value_head)


@dataclass(frozen=True)
class Convolution:
    """A convolution; `places` are those of the result, of all samples."""

    module: str
    parameter: str
    channels: int
    results: int
    groups: int
    kernel: tuple[int, ...]
    places: int

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        taken = self.channels // self.groups * math.prod(self.kernel)
        return 2 * self.places * self.results * taken


@dataclass(frozen=True)
class Step:
    """An operation that tells kinds of layers apart: a softmax, a cumulative sum or a
    clamp. A softmax of scores has what the mask added to them lets a query see."""

    module: str
    name: str
    seen: Seen | None = None

    @property
    def operations(self) -> int:
        """None: no product."""
        return 0


Event = Product | Attention | Convolution | Step
