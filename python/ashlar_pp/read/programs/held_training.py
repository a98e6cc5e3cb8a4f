"""The places at which a program begins to train: the Trainer of transformers, loops
over accelerate or DeepSpeed. Each is held, and what it was given is recorded."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..modules.walked import Unreadable
from .absent import Absent
from .absent_arrays import Arrays
from .held_loops import Loops
from .made_loops import record_of
from .made_objects import (
    arguments_of,
    model_of,
    own_methods,
    own_values,
    plain,
)

# Engines that share the state are another reader's: the Trainer does not start them.
_SHARING = ("deepspeed", "fsdp", "fsdp_config")


class Held:
    """Where the record of one program goes, and what was seen of it so far."""

    def __init__(self, record: pathlib.Path) -> None:
        self.record = record
        self.missing: list[str] = []  # data, models and tokenizers
        self.packages: set[str] = set()  # that something stands in for
        self.loaded: dict[int, dict[str, Any]] = {}  # how models are
        self._sharing: dict[str, Any] = {}
        self._parsed: list[Any] = []
        self._given: list[Any] = []  # to accelerate
        self.arrays = Arrays(self.missing)
        self.loops = Loops(self.end, self._of_loop)

    def end(self, made: dict[str, Any]) -> None:
        """Writes the record and ends the process, whatever the program catches."""
        made["missing"] = sorted(set(self.missing))
        made["packages"] = sorted(self.packages)
        self.record.write_text(json.dumps(made, default=str), encoding="utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def hold(self) -> None:
        """Holds all of these places."""
        self._hold_trainer()
        self._hold_accelerate()
        self._hold_deepspeed()
        self._hold_arguments()
        self.loops.hold()

    def _of_loop(self, module: torch.nn.Module, made: dict[str, Any]) -> dict[str, Any]:
        own = own_values(self._parsed)
        model = model_of(module, self.loaded)
        record = record_of(module, made, self.loops.wrappers, own, model)
        if doubt := self.arrays.doubt():
            raise Unreadable(
                f"it looks for {doubt}, in a folder whose data are not here: give the "
                "folder, where a short file of tokens is enough"
            )
        record["given"] = {"optim": _optimizer(made["optimizer"])}
        return record

    def _hold_trainer(self) -> None:
        transformers = importlib.import_module("transformers")
        arguments, trainer = transformers.TrainingArguments, transformers.Trainer
        checked = arguments.__post_init__

        def check(args: Any) -> None:
            for name in _SHARING:
                if value := getattr(args, name, None):
                    self._sharing[name] = plain(value)
                    setattr(args, name, "" if name == "fsdp" else None)
            args.report_to, args.push_to_hub = [], False
            checked(args)

        def train(self_: Any, *words: Any, **named: Any) -> None:
            self._at_trainer(self_)

        arguments.__post_init__ = check
        trainer.train = train
        trainer._inner_training_loop = train
        # Programs print their first sample.
        trainer.get_train_dataloader = lambda self_: Absent()

    def _at_trainer(self, trainer: Any) -> None:
        given = arguments_of(trainer.args)
        for name in _SHARING:
            given.pop(name, None)
        if not self._sharing.get("fsdp"):
            self._sharing.pop("fsdp_config", None)
        if getattr(trainer, "optimizer", None) is not None:
            given["optim"] = _optimizer(trainer.optimizer)
        # Those of the Trainer's arguments count, if several have one name.
        objects = (trainer.train_dataset, trainer.data_collator, trainer.args)
        self.end(
            {
                "by": [each.__name__ for each in type(trainer).__mro__],
                "given": {**given, **self._sharing},
                "own": own_values((*self._parsed, *objects)),
                "model": model_of(trainer.model, self.loaded),
                "has_second": getattr(trainer, "ref_model", None) is not None,
                "replaces": own_methods(type(trainer)),
            }
        )

    def _hold_accelerate(self) -> None:
        try:
            accelerate = importlib.import_module("accelerate")
        except ImportError:
            return

        def prepare(self_: Any, *words: Any, **named: Any) -> Any:
            self._given.extend(words)
            self._at_accelerate(self_)
            return words[0] if len(words) == 1 else words

        accelerate.Accelerator.prepare = prepare

    def _hold_deepspeed(self) -> None:
        """Where it is installed; else the package's stand-in has `initialize`."""
        if importlib.util.find_spec("deepspeed") is not None:
            deepspeed: Any = importlib.import_module("deepspeed")
            deepspeed.initialize = self.initialize

    def _at_accelerate(self, accelerator: Any) -> None:
        """Once a model, its optimizer and its data are there."""
        models = [each for each in self._given if isinstance(each, torch.nn.Module)]
        optimizers = [x for x in self._given if isinstance(x, torch.optim.Optimizer)]
        data = [x for x in self._given if isinstance(x, torch.utils.data.DataLoader)]
        if not (models and optimizers and data):
            return
        own = own_values(self._parsed)
        given = {
            "per_device_train_batch_size": self._micro_batch(accelerator, data[0]),
            # Older programs count micro-batches themselves.
            "gradient_accumulation_steps": max(
                accelerator.gradient_accumulation_steps,
                int(own.get("gradient_accumulation_steps") or 1),
            ),
            "mixed_precision": str(accelerator.mixed_precision),
            "optim": _optimizer(optimizers[0]),
        }
        state = accelerator.state
        if plugin := getattr(state, "deepspeed_plugin", None):
            given["deepspeed"] = json.dumps(plugin.deepspeed_config)
        if getattr(state, "fsdp_plugin", None):
            self.end({"error": "it gives accelerate an object of FSDP's, not its file"})
        self.end(
            {
                "by": ["Accelerator"],
                "given": given,
                "own": own,
                "model": model_of(models[0], self.loaded),
                "has_second": len(models) > 1,
                "replaces": ["the loop"],
            }
        )

    def _micro_batch(self, accelerator: Any, data: Any) -> int:
        if data.batch_size is None:
            self.end({"error": "its data make batches of a size of their own"})
        shares = getattr(accelerator, "split_batches", False)
        return int(data.batch_size) // (accelerator.num_processes if shares else 1)

    def initialize(self, *words: Any, **named: Any) -> None:
        """In the place of deepspeed.initialize."""
        names = ("args", "model", "optimizer", "model_parameters")
        named = {**dict(zip(names, words)), **named}
        config = named.get("config", named.get("config_params"))
        if config is None:
            args = named.get("args")
            config = getattr(args, "deepspeed_config", None)
        if not isinstance(named.get("model"), torch.nn.Module) or not config:
            self.end({"error": "deepspeed.initialize was given no model, or no file"})
        said = config if isinstance(config, str) else json.dumps(config)
        given = {"deepspeed_config": said}
        if named.get("optimizer") is not None:
            given["optim"] = _optimizer(named["optimizer"])
        self.end(
            {
                "by": ["deepspeed.initialize"],
                "given": given,
                "own": own_values(self._parsed),
                "model": model_of(named["model"], self.loaded),
                "has_second": False,
                "replaces": ["the loop"],
            }
        )

    def _hold_arguments(self) -> None:
        """Keeps what the program's arguments are parsed to."""
        transformers = importlib.import_module("transformers")

        def keep(parse: Callable[..., Any]) -> Callable[..., Any]:
            def parsed(*words: Any, **named: Any) -> Any:
                made = parse(*words, **named)
                self._parsed.extend(made if isinstance(made, tuple) else [made])
                return made

            return parsed

        classes = transformers.HfArgumentParser
        for name in [each for each in vars(classes) if each.startswith("parse_")]:
            setattr(classes, name, keep(getattr(classes, name)))
        parser: Any = argparse.ArgumentParser
        parser.parse_args = keep(parser.parse_args)

        def refuse(self_: Any, message: str) -> None:
            self.end({"error": f"its arguments: {message}"})

        parser.error = refuse


# Classes of optimizers, as the Trainer names what they keep.
_NAMES = {
    "Adam": "adamw_torch",
    "AdamW": "adamw_torch",
    "FusedAdam": "adamw_torch",
    "DeepSpeedCPUAdam": "adamw_torch",
    "AdamW8bit": "adamw_8bit",
    "PagedAdamW": "paged_adamw_32bit",
    "PagedAdamW32bit": "paged_adamw_32bit",
    "PagedAdamW8bit": "paged_adamw_8bit",
}


# Whose classes have the state that their names tell.
_PUBLISHED = ("torch", "bitsandbytes", "apex", "deepspeed", "transformers")


def _optimizer(optimizer: Any) -> str:
    kind = type(optimizer)
    if kind.__module__.partition(".")[0] not in _PUBLISHED:
        return f"{kind.__module__}.{kind.__name__}"
    return _NAMES.get(kind.__name__, kind.__name__)
