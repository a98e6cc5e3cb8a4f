"""What of a model's parameters a token meets, adapters have, and no forward runs."""

from __future__ import annotations

from fractions import Fraction

from torch import nn

from .events import Product
from .walked import Walk


def shares_of_experts(walked: Walk, model: nn.Module) -> dict[str, Fraction]:
    """The share of each routed parameter that a token meets, by name."""
    rows: dict[str, int] = {}
    for event in walked.events:
        if isinstance(event, Product) and event.experts:
            rows[event.module] = event.rows
    shares: dict[str, Fraction] = {}
    modules = dict(model.named_modules())
    for event in walked.events:
        if not isinstance(event, Product) or not event.experts:
            continue
        tokens = _tokens_before(walked, event)
        share = min(Fraction(rows[event.module], tokens * event.experts), Fraction(1))
        # Biases of experts stand beside their matrices.
        for name, parameter in modules[event.module].named_parameters():
            if parameter.dim() > 1 and parameter.shape[0] == event.experts:
                shares[f"{event.module}.{name}"] = share
        shares[event.parameter] = share
    return shares


def _tokens_before(walked: Walk, routed: Product) -> int:
    """Tokens that a router sees: the rows of the last product that chose experts."""
    block = routed.module.rpartition(".")[0]
    for event in walked.events:
        if isinstance(event, Product) and event.module.startswith(block):
            if event.parameter and not event.experts:
                if event.columns == routed.experts:
                    return event.rows
    first = next(iter(walked.events))
    return first.rows if isinstance(first, Product) else routed.rows


def adapters_of(model: nn.Module) -> list[str]:
    """Names of parameters' beginnings that are of adapters, as peft has them."""
    found: list[str] = []
    for name, module in model.named_modules():
        if not type(module).__module__.startswith("peft.tuners"):
            continue
        for child in getattr(module, "adapter_layer_names", ()):
            found.append(f"{name}.{child}")
    return found


def not_run(model: nn.Module, walked: Walk) -> list[str]:
    found: list[str] = []

    def visit(name: str, module: nn.Module) -> None:
        for child_name, child in module.named_children():
            full = f"{name}.{child_name}" if name else child_name
            runs = any(
                called == full or called.startswith(f"{full}.")
                for called in walked.calls
            )
            if runs:
                visit(full, child)
            elif any(True for _ in child.parameters()):
                if not _only_weights(full, child, walked):
                    found.append(full)

    visit("", model)
    return found


def _only_weights(name: str, module: nn.Module, walked: Walk) -> bool:
    """Whether a module that was not called lent its weights to another."""
    used = {getattr(event, "parameter", "") for event in walked.events}
    return any(f"{name}.{inner}" in used for inner, _ in module.named_parameters())
