"""Parts of a model that train, by the names and formats of its parameters, in the words
of the Trainer's reader and of `ashlar predict`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..facts.peft_kinds import PARAMETERS, kind_of
from ..modules.adapted import targets_of
from ..run_file import Run, Unreadable

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block)\.(\d+)\.")
_TABLES = {
    "embedding": re.compile(
        r"embed_tokens|\bwte\b|word_embeddings|embed_in\b|tok_embeddings"
    ),
    "head": re.compile(r"\b(lm_head|output_layer|embed_out)\."),
}
_ADAPTER = re.compile(PARAMETERS)
# No word of the Trainer says these of adapters.
_NOT_COUNTED = (
    "layers_to_transform",
    "rank_pattern",
    "layer_replication",
    "exclude_modules",
    "target_parameters",
    "trainable_token_indices",
)


class Parts:
    """What trains of a model that a program made.

    Adapters and packed weights go into `given`, the Trainer's words; `finish` adds to a
    run what no such word says. The architecture of a module that `is_walked` has the
    frozen parts itself. Raises Unreadable for kinds that are not counted.
    """

    def __init__(
        self, model: Mapping[str, Any], given: dict[str, Any], is_walked: bool = False
    ) -> None:
        self.sizes: Mapping[str, int] = model["sizes"]
        self.formats: Mapping[str, str] = model["formats"]
        # Releases of peft before 0.7 leave a table trainable that a copy stands for.
        self.trains = {n for n in model["trains"] if ".original_module." not in n}
        self.left = self._sum(set(model["trains"]) - self.trains)
        self.adapters: Mapping[str, Any] = model["adapters"]
        self.tells_frozen = is_walked
        if model["config"] is None and not is_walked:
            raise Unreadable(f"{model['class']} has no configuration of transformers")
        if len(self.adapters) > 1:
            raise Unreadable(f"several adapters at once: {', '.join(self.adapters)}")
        for each in self.adapters.values():
            _add_adapters(each, given)
            if not isinstance(each["target_modules"], str):
                given["lora_target_modules"] = targets_of(
                    each["target_modules"], self.sizes, given["lora_r"]
                )
        if packed := model["packed"]:
            _add_packed(packed, given)
        held = set(self.sizes) - self.trains if self.adapters else self.trains
        given["torch_dtype"] = self._most(held)

    def finish(self, run: Run) -> None:
        """Adds parts that train beside adapters or alone, and the counts that the
        prediction must come to."""
        beside = sum(n for name, n in self.sizes.items() if _ADAPTER.search(name))
        run.counted = {
            "parameters": sum(self.sizes.values()) - beside,
            "trained": self._sum(self.trains),
        }
        if self.left:
            run.unknown.append(
                f"{self.left} parameters of tables that train as copies, and whose "
                "originals are left trainable: an engine may hold their state"
            )
        if self.adapters:
            self._finish_adapted(run)
        elif len(self.trains) < len(self.sizes) and not self.tells_frozen:
            run.program["train_only"] = self._words()

    def _sum(self, names: set[str]) -> int:
        return sum(self.sizes[name] for name in names)

    def _finish_adapted(self, run: Run) -> None:
        rest = {name for name in self.trains if not _ADAPTER.search(name)}
        for word, pattern in _TABLES.items():
            named = {name for name in rest if pattern.search(name)}
            if named:  # the table itself, without a copy
                run.program["lora"] += f",train={word}"
            rest -= named
        small = {name for name in rest if "norm" in name or name.endswith(".bias")}
        if rest - small:
            raise Unreadable(
                f"{min(rest - small)} trains beside adapters, which is not counted"
            )
        if small:
            run.counted["trained"] -= self._sum(small)
            run.unknown.append(
                f"{self._sum(small)} parameters of norms and biases, which train "
                "beside adapters and are not counted"
            )
        frozen = set(self.sizes) - self.trains
        if packed := run.program.get("frozen_weights"):
            wide = {n for n in frozen if _TABLES["embedding"].search(n)}
            run.unknown = [one for one in run.unknown if "rest=32-bit" not in one]
            if self._most(wide) == "float32":
                run.program["frozen_weights"] = f"{packed},rest=32-bit"

    def _most(self, names: set[str]) -> str:
        """The format of most of these parameters."""
        formats: Counter[str] = Counter()
        for name in names:
            formats[self.formats[name]] += self.sizes[name]
        return formats.most_common(1)[0][0] if formats else ""

    def _words(self) -> str:
        """For --train-only; layers by their numbers."""
        made = [
            word
            for word, pattern in _TABLES.items()
            if any(pattern.search(name) for name in self.trains)
        ]
        layers: dict[int, set[bool]] = {}
        for name in self.sizes:
            if found := _LAYER.search(name):
                layers.setdefault(int(found[1]), set()).add(name in self.trains)
        if any(len(each) > 1 for each in layers.values()):
            raise Unreadable(
                "a part of a layer trains, and only whole layers are predicted"
            )
        on = sorted(i for i, each in layers.items() if True in each)
        made.extend(
            ["layers"] if len(on) == len(layers) else [f"layers={i}" for i in on]
        )
        return ",".join(made)


def _add_adapters(each: Mapping[str, Any], given: dict[str, Any]) -> None:
    number, word = kind_of(each)
    for name in _NOT_COUNTED:
        if each.get(name):
            raise Unreadable(f"adapters with {name} {each[name]}: not predicted")
    if each.get("bias", "none") != "none":
        raise Unreadable(f"adapters with bias {each['bias']}: biases train beside them")
    given["lora_r"] = number
    given["lora_target_modules"] = each["target_modules"]
    given["lora_dropout"] = each.get("lora_dropout", 0)
    given["use_dora"] = bool(each.get("use_dora"))
    given["peft_kind"] = word
    if saved := each.get("modules_to_save"):
        given["modules_to_save"] = saved


def _add_packed(packed: Mapping[str, Any], given: dict[str, Any]) -> None:
    if packed["bits"] not in (4, 8):
        raise Unreadable(
            f"{packed['kind']}: only weights that bitsandbytes packs are counted"
        )
    given[f"load_in_{packed['bits']}bit"] = True
    given["bnb_4bit_use_double_quant"] = packed["doubles"]
