"""Models of transformers without their weights: on the `meta` device, by their
configurations."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import torch

from .absent import AbsentTokenizer
from .hub_code import take_code
from .made_objects import BUILT


class Weights:
    """`model` is a file of a configuration that is taken where a name's own is not
    here, with the code and the tokenizer beside it. `missing` collects what is not,
    `loaded` how each model is loaded."""

    def __init__(
        self, model: str, missing: list[str], loaded: dict[int, dict[str, Any]]
    ) -> None:
        self.model = model
        self.missing = missing
        self.loaded = loaded
        self.rows = 0
        self.lengths: set[int] = set()  # of tokenizers that something stands in for
        self._depth = 0

    def leave_out(self) -> None:
        """From now on, models have no memory and load nothing."""
        transformers = importlib.import_module("transformers")
        self._config(transformers)
        self._models(transformers)
        take_code(pathlib.Path(self.model).parent if self.model else None)
        for name in ("AutoTokenizer", "PreTrainedTokenizerBase", "AutoProcessor"):
            if hasattr(transformers, name):
                self._tokenizer(getattr(transformers, name))

    def _config(self, transformers: Any) -> None:
        configs = transformers.PretrainedConfig
        real = configs.get_config_dict

        def get(name: Any, **named: Any) -> Any:
            try:
                found = real(name, **named)
                if found[0].get("model_type") or not self.model:
                    return found
            except Exception:  # of the hub, of a file, of what stands in it
                if not self.model:
                    raise
            self.missing.append(str(name))
            rest = {k: v for k, v in named.items() if k not in _OF_FETCHING}
            return json.loads(pathlib.Path(self.model).read_text()), rest

        configs.get_config_dict = staticmethod(get)

    def _models(self, transformers: Any) -> None:
        models = transformers.PreTrainedModel
        begin, end = models.__init__, models.post_init

        # A constructor begins with the one of all models, and ends with post_init.
        @functools.wraps(begin)
        def begun(model: Any, *words: Any, **named: Any) -> None:
            if self._depth == 0:
                self._device = torch.device("meta")
                self._device.__enter__()
            self._depth += 1
            begin(model, *words, **named)

        def ended(model: Any) -> None:
            end(model)
            self._depth -= 1
            if self._depth == 0:
                self._device.__exit__(None, None, None)

        models.__init__ = begun
        models.post_init = ended
        loaded = self._loaded

        def from_pretrained(cls: Any, name: Any, *words: Any, **named: Any) -> Any:
            return loaded(cls, name, named)

        models.from_pretrained = classmethod(from_pretrained)
        models.resize_token_embeddings = self._resized(models.resize_token_embeddings)
        # The auto classes first ask for files of the hub.
        factory: Any = importlib.import_module("transformers.models.auto.auto_factory")
        for asks in ("find_adapter_config_file", "cached_file"):
            if hasattr(factory, asks):
                setattr(factory, asks, _or_none(getattr(factory, asks)))

    def _loaded(self, cls: Any, name: Any, named: dict[str, Any]) -> Any:
        config = named.pop("config", None)
        rest = {k: v for k, v in named.items() if k not in _OF_LOADING}
        if config is None or isinstance(config, str | pathlib.Path):
            config, rest = cls.config_class.from_pretrained(
                name if config is None else config, return_unused_kwargs=True, **rest
            )
        kernel = named.get("attn_implementation") or getattr(
            config, "_attn_implementation_internal", None
        )
        if named.get("use_flash_attention_2"):
            kernel = "flash_attention_2"
        if kernel:  # it may be missing here
            config._attn_implementation = "eager"
        # Constructors of a program's own models may take more.
        takes = inspect.signature(cls.__init__).parameters
        with torch.device("meta"):
            model = cls(config, **{k: v for k, v in rest.items() if k in takes})
        form = _format(config, named)
        model.to(form or torch.float32)
        self.rows = max(self.rows, _rows(config))
        packed = _packed(named)
        if packed:
            _pack(model, named, packed)
        self.loaded[id(model)] = {
            "kernel": kernel or "",
            "packed": packed,
            "has_format": form is not None,
            "asks_rows": False,
        }
        return (model, {}) if named.get("output_loading_info") else model

    def _resized(self, real: Any) -> Any:
        """Rows are added without values. Those of an absent tokenizer are not known,
        and the model's own stay."""
        rest: dict[str, Any] = {}
        if "mean_resizing" in inspect.signature(real).parameters:
            rest["mean_resizing"] = False

        @functools.wraps(real)
        def resize(model: Any, *words: Any, **named: Any) -> Any:
            if self.lengths:
                self.loaded.setdefault(id(model), dict(BUILT))["asks_rows"] = True
            if self.lengths.intersection((*words, *named.values())):
                return model.get_input_embeddings()
            return real(model, *words, **{**named, **rest})

        return resize

    def _tokenizer(self, cls: Any) -> None:
        real = cls.from_pretrained.__func__

        def load(kind: Any, name: Any, *words: Any, **named: Any) -> Any:
            if _has_tokenizer(name):
                return real(kind, name, *words, **named)
            beside = pathlib.Path(self.model).parent if self.model else ""
            if beside and _has_tokenizer(beside):
                try:
                    return real(kind, str(beside), *words, **named)
                except Exception:  # of another release's code, of files cut short
                    pass
            self.missing.append(f"the tokenizer of {name}")
            self.lengths.add(self._rows_of(name))
            transformers = importlib.import_module("transformers")
            is_text = kind.__name__ != "AutoProcessor"
            return AbsentTokenizer(
                self._rows_of(name),
                named.get("model_max_length") or int(1e30),
                transformers.PreTrainedTokenizerBase
                if is_text
                else transformers.ProcessorMixin,
            )

        cls.from_pretrained = classmethod(load)

    def _rows_of(self, name: Any) -> int:
        configs: Any = importlib.import_module("transformers").PretrainedConfig
        try:
            said = configs.get_config_dict(str(name))[0]
        except Exception:  # no configuration either
            said = {}
        inner = said.get("text_config") or said
        rows = inner.get("padded_vocab_size") or inner.get("vocab_size")
        return int(rows or self.rows or 32000)


def _format(config: Any, named: Mapping[str, Any]) -> torch.dtype | None:
    """The format of weights: float32 where nothing is said before version 5 of
    transformers, and since then that of their files. None: the configuration does not
    say it."""
    form = named.get("dtype") or named.get("torch_dtype")
    if form is None:
        transformers = importlib.import_module("transformers")
        is_older = int(transformers.__version__.partition(".")[0]) < 5
        form = "float32" if is_older else "auto"
    if form == "auto":
        form = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
    return getattr(torch, form) if isinstance(form, str) else form


def _pack(model: Any, named: Mapping[str, Any], packed: Mapping[str, Any]) -> None:
    """Puts the layers of packed weights in place, which peft and programs look for."""
    transformers = importlib.import_module("transformers")
    said = named.get("quantization_config")
    if said is None:
        bits = {
            name: True for name in ("load_in_4bit", "load_in_8bit") if named.get(name)
        }
        said = transformers.BitsAndBytesConfig(**bits)
    model.config.quantization_config = said
    try:
        quantizers = importlib.import_module("transformers.quantizers.auto")
    except ImportError:  # before 4.38
        layers: Any = importlib.import_module("transformers.integrations.bitsandbytes")
        kept = layers.get_keys_to_not_convert(model)
        with torch.device("meta"):
            layers.replace_with_bnb_linear(
                model, modules_to_not_convert=kept, quantization_config=said
            )
        model._is_quantized_training_enabled = True
    else:
        quantizer = quantizers.AutoHfQuantizer.from_config(said, pre_quantized=False)
        with torch.device("meta"):
            quantizer.preprocess_model(
                model, device_map={"": 0}, keep_in_fp32_modules=[]
            )
        model.hf_quantizer = quantizer
    model.is_loaded_in_4bit = packed["bits"] == 4
    model.is_loaded_in_8bit = packed["bits"] == 8
    model.is_quantized = True


def _or_none(find: Any) -> Any:
    def found(*words: Any, **named: Any) -> Any:
        try:
            return find(*words, **named)
        except Exception:  # of the hub, or of a folder that is not here
            return None

    return found


_OF_FETCHING = """
    cache_dir force_download resume_download proxies token use_auth_token revision
    local_files_only subfolder _from_pipeline _from_auto _commit_hash trust_remote_code
    gguf_file code_revision
""".split()
_OF_LOADING = """
    torch_dtype dtype device_map max_memory low_cpu_mem_usage quantization_config
    load_in_4bit load_in_8bit attn_implementation use_flash_attention_2 offload_folder
    output_loading_info ignore_mismatched_sizes from_tf use_safetensors state_dict
""".split()


_OF_TOKENIZERS = """
    tokenizer.json tokenizer_config.json tokenizer.model vocab.json vocab.txt
""".split()


def _has_tokenizer(name: Any) -> bool:
    """Whether its files are in a folder, or among those of the hub that are here."""
    if pathlib.Path(str(name)).is_dir():
        return any(pathlib.Path(str(name), each).is_file() for each in _OF_TOKENIZERS)
    hub = importlib.import_module("huggingface_hub")
    try:
        found = [hub.try_to_load_from_cache(str(name), each) for each in _OF_TOKENIZERS]
    except Exception:  # no name of the hub
        return False
    return any(isinstance(each, str) for each in found)


def _rows(config: Any) -> int:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    return int(getattr(text, "vocab_size", 0) or 0)


def _packed(named: Mapping[str, Any]) -> dict[str, Any]:
    """Weights in few bits, by a configuration or by flags."""
    said = named.get("quantization_config")
    keys = said if isinstance(said, Mapping) else vars(said) if said else {}

    def flag(name: str) -> bool:
        return bool(keys.get(f"_{name}", keys.get(name)) or named.get(name))

    bits = 4 if flag("load_in_4bit") else 8 if flag("load_in_8bit") else 0
    if said and not bits:
        return {"bits": -1, "kind": type(said).__name__}
    doubles = bool(keys.get("bnb_4bit_use_double_quant"))
    return {"bits": bits, "doubles": doubles} if bits else {}
