"""Products of matrices, in groups, and attention: 2 k (m n + 64 n in a group + wave x
tile x units) / rate + traffic x moved / memory, as `kernels.hpp` has it.
"""

import warnings
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from .samples import Sample, Sizes
from .team import Team

TILE = 128 * 256
BITS = {torch.float32: 32, torch.bfloat16: 16, torch.float16: 16}


def product_terms(
    m: float, n: float, k: float, count: int, units: float, out_bytes: float = 2
) -> dict[str, float]:
    """Operations, operations of a wave of tiles, and bytes moved (2 an operand's)."""
    ops = 2 * k * (m * n + (64 * n if count > 1 else 0))
    return {
        "operations": count * ops,
        "wave": count * 2 * k * TILE * units,
        "traffic": count * (out_bytes * m * n + 2 * k * (m + n)),
    }


def shapes_of(s: Sizes) -> list[tuple[int, int, int]]:
    """Tokens, columns and inner sizes of a layer's products, whole and in parts."""
    t, h, w = s.tokens, s.hidden, s.width
    return [(t, h, h), (t, w, h), (t, h, w), (t, w // 4, h), (t // 8, w, h)]


# Bytes of a weight's gradient: written, and added apart from the product, as plain
# programs do.
GRADIENT_BYTES = 12


def three_ways(
    m: int, n: int, k: int, device: torch.device, dtype: torch.dtype
) -> Iterator[tuple[str, tuple[int, int, int], float, Callable[[], object]]]:
    """A layer's forward, and its gradients of inputs and of weights, as autograd lays
    them out: names, shapes, bytes of a result, and calls.
    """

    def values(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=device, dtype=dtype)

    x, y, weight, gradient = values(m, k), values(m, n), values(n, k), values(n, k)
    yield "forward", (m, n, k), 2, lambda: x @ weight.t()
    yield "of inputs", (m, k, n), 2, lambda: y @ weight
    yield "of weights", (n, k, m), GRADIENT_BYTES, lambda: gradient.add_(y.t() @ x)


def in_float8(a: torch.Tensor, b: torch.Tensor) -> Callable[[], object]:
    one = torch.ones((), device=a.device)
    low, high = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
    by_rows, by_columns = low.contiguous(), high.t().contiguous().t()

    def call() -> object:
        return torch._scaled_mm(
            by_rows, by_columns, scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )

    call()
    return call


def product_samples(
    team: Team, s: Sizes, dtype: torch.dtype, units: float
) -> Iterator[Sample]:
    kind = f"products.{BITS[dtype]}"
    for m, n, k in shapes_of(s):
        for name, shape, out, call in three_ways(m, n, k, team.device, dtype):
            terms = product_terms(*shape, 1, units, out)
            yield Sample(kind, f"{m} x {n} x {k}, {name}", terms, call)


def group_sample(team: Team, s: Sizes, dtype: torch.dtype, units: float) -> Sample:
    """Products of experts, several at once. No constant is theirs alone: they show how
    far the formula is from them.
    """
    count, rows, n = 4, s.tokens // 8, s.width // 4
    a = torch.randn(count, rows, s.hidden, device=team.device, dtype=dtype)
    b = torch.randn(count, s.hidden, n, device=team.device, dtype=dtype)
    terms = product_terms(rows, n, s.hidden, count, units)
    name = f"{count} groups of {rows} x {n} x {s.hidden}"
    return Sample("groups", name, terms, lambda: torch.bmm(a, b))


def low_product_samples(team: Team, s: Sizes, units: float) -> list[Sample]:
    """In 8 bits; none where this PyTorch or device has no such products."""
    made: list[Sample] = []
    if not team.has_gpu:
        return made
    for m, n, k in shapes_of(s)[:3]:
        a = torch.randn(m, k, device=team.device)
        b = torch.randn(k, n, device=team.device)
        try:
            call = in_float8(a, b)
        except (RuntimeError, AttributeError, NotImplementedError):
            return []
        terms = product_terms(m, n, k, 1, units)
        made.append(Sample("products.8", f"{m} x {n} x {k}", terms, call))
    return made


def attention_samples(
    team: Team, s: Sizes, dtype: torch.dtype, kind: str, backend: SDPBackend | None
) -> Iterator[Sample]:
    """Causal, forward and backward. Scores count as in `attention_seconds`."""
    for sequence in s.sequences:
        for head in (64, 128):
            heads = max(1, s.heads * 64 // head)
            rows = max(1, s.sequences[-1] // sequence)
            shape = (rows, heads, sequence, head)
            q, k, v = (
                torch.randn(shape, device=team.device, dtype=dtype, requires_grad=True)
                for _ in range(3)
            )

            def forward(
                q: torch.Tensor = q, k: torch.Tensor = k, v: torch.Tensor = v
            ) -> torch.Tensor:
                if backend is None:
                    return functional.scaled_dot_product_attention(
                        q, k, v, is_causal=True
                    )
                with sdpa_kernel(backend):
                    return functional.scaled_dot_product_attention(
                        q, k, v, is_causal=True
                    )

            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    out = forward()
            except RuntimeError:  # no such kernel here
                return
            slope = torch.randn_like(out)
            kept = rows * heads * sequence * sequence / 2
            scores = kept * (1 + 128 / sequence)
            name = f"{sequence} tokens, {heads} heads of {head}"

            def backward(
                out: torch.Tensor = out,
                inputs: tuple[torch.Tensor, ...] = (q, k, v),
                slope: torch.Tensor = slope,
            ) -> object:
                return torch.autograd.grad(out, inputs, slope, retain_graph=True)

            for way, call, times in (
                ("forward", forward, 4),
                ("backward", backward, 10),
            ):
                yield Sample(
                    kind,
                    f"{name}, {way}",
                    {"operations": scores * times * head, "exponentials": scores},
                    call,
                )
