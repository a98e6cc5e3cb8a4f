"""Programs over the Trainer that train a tower of images, what leads from it, and a
decoder, and say by words of their own which of them train."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..run_file import Run, Unreadable
from ..values import Values

# Matrices of decoders in transformers, by which a pattern of adapters is tried.
_PLACES = (
    *(f"self_attn.{one}_proj" for one in "qkvo"),
    *(f"mlp.{one}_proj" for one in ("gate", "up", "down")),
)


@dataclass(frozen=True)
class Says:
    """The word that says whether a part trains; it does with one of these values, and
    has adapters with one of `adapts`. Without a word it is as `default` says."""

    word: str = ""
    default: str = "true"
    trains: tuple[str, ...] = ("true",)
    adapts: tuple[str, ...] = ()
    stays: tuple[str, ...] = ("false",)

    def value(self, v: Values) -> str:
        """Raises Unreadable for a value that it does not know."""
        said = str(v.word(self.word, default=self.default)).lower()
        if said not in (*self.trains, *self.adapts, *self.stays):
            known = ", ".join((*self.trains, *self.adapts, *self.stays))
            raise Unreadable(f"{self.word} {said}: {known} are read", flag=self.word)
        return said


@dataclass(frozen=True)
class Adapters:
    """Adapters of a program: what turns them on, and what towers that train do beside
    them: they stay `frozen`, train as they are (`whole`), or as copies (`train`)."""

    switch: str
    rank: str = "lora_r"
    places: str = "all"
    beside: str = "whole"
    of_towers: str = ""  # the word with which encoders have adapters, too


@dataclass(frozen=True)
class Program:
    """A program, told by any of its `signs`, as its code at `source` has it.

    `of_decoder` is frozen with the decoder. `pixels` are of an image at most. Words
    that are not off are refused where they are `other`, and listed where they are
    `loose`."""

    source: str
    signs: tuple[str, ...]
    encoders: Says
    aligners: Says
    decoder: Says
    adapters: Adapters
    of_decoder: str = "embedding,head,layers"
    length: int = 0
    kernel: str = ""
    pixels: tuple[str, int] = ("", 0)
    other: str = ""
    loose: str = ""
    quiet: str = ""
    check: Callable[[Values, Run], None] | None = None


def _untied(word: str) -> Says:
    return Says(word, "false", ("false",), (), ("true",))


def _of_2u1(v: Values, run: Run) -> None:
    """Its adapters are at all matrices that are not named, of tables and of towers."""
    is_phi = v.get("tune_img_projector", "num_crops") is not None
    without = "unfused" if is_phi else "sdpa"
    is_off = v.flag("disable_flash_attn2")
    run.program["attention"] = without if is_off else "flash_attention_2"
    if not v.flag("lora_enable"):
        return
    out = v.word("lora_namespan_exclude")
    if not {"lm_head", "embed_tokens"} <= set(re.findall(r"\w+", out)):
        raise Unreadable(
            "lora_namespan_exclude names not lm_head and embed_tokens: adapters of "
            "tables are not counted",
            flag="lora_namespan_exclude",
        )
    if v.word("num_lora_modules", default="-1") != "-1":
        raise Unreadable("num_lora_modules: only the last matrices have adapters")
    if v.flag("vision_lora"):
        run.unknown.append(
            "vision_lora: adapters of what leads from the tower are not counted"
        )


def _of_minicpm(v: Values, run: Run) -> None:
    """Its adapters are where a pattern says, beside a copy of the first table."""
    run.unknown.append(
        f"max_slice_nums: an image is 1 to {v.number('max_slice_nums', default=9)} "
        "parts, beside the whole"
    )
    if not v.flag("use_lora"):
        return
    if v.flag("tune_llm", default=True):
        raise Unreadable("use_lora with tune_llm: finetune.py stops", flag="use_lora")
    run.program["lora"] += ",train=embedding"


def _of_vila(v: Values, run: Run) -> None:
    if v.flag("lora_enable") and not v.flag("lora_llm"):
        raise Unreadable("lora_enable without lora_llm: adapters of the tower alone")
    if v.word("seq_parallel_size", default="-1") not in ("-1", "1"):
        raise Unreadable(
            "seq_parallel_size: VILA's own division of sequences is not counted",
            flag="seq_parallel_size",
        )


_QWEN = Adapters("lora_enable", places="q_proj,k_proj,v_proj,o_proj", beside="frozen")
_OF_2U1 = (
    "lora_namespan_exclude num_lora_modules vision_lora lora_enable lora_alpha "
    "vision_lr image_folder"
)
PROGRAMS = (
    Program(
        # lm_head.requires_grad is a field of the module: its weights train.
        "QwenLM/Qwen3-VL at 9658872, qwen-vl-finetune/qwenvl/train",
        ("tune_mm_llm", "tune_mm_vision", "tune_mm_mlp"),
        Says("tune_mm_vision", "false"),
        Says("tune_mm_mlp", "false"),
        Says("tune_mm_llm", "false"),
        _QWEN,
        of_decoder="embedding,layers",
        length=512,
        kernel="flash_attention_2",
        pixels=("max_pixels", 28 * 28 * 576),
        loose="data_packing",
        quiet="data_flatten min_pixels video_max_frames video_min_frames "
        "video_max_pixels video_min_pixels video_fps base_interval dataset_use "
        "mm_projector_lr vision_tower_lr",
    ),
    Program(
        "OpenBMB/MiniCPM-V at 0dbb566, finetune/finetune.py",
        ("tune_vision", "tune_llm"),
        Says("tune_vision"),
        Says(),
        Says("tune_llm"),
        Adapters("use_lora", beside="train"),
        length=2048,
        other="lora_layers_to_transform lora_layer_replication q_lora",
        quiet="llm_type bf16_full_eval fp16_full_eval max_slice_nums",
        check=_of_minicpm,
    ),
    Program(
        "NVlabs/VILA at b760c34, llava/train/train.py",
        ("tune_language_model", "tune_mm_projector"),
        Says("tune_vision_tower", "false"),
        Says("tune_mm_projector", "false"),
        Says("tune_language_model", "false"),
        Adapters("lora_enable", of_towers="lora_vt"),
        length=512,
        kernel="flash_attention_2",
        other="ps3 tune_top_down_selection dpo quantize_model",
        loose="dynamic_s2 s2 image_aspect_ratio num_video_frames video_encoder "
        "video_max_tiles vision_resolution",
        quiet="vision_tower mm_projector mm_use_im_start_end mm_use_im_patch_token "
        "mm_vision_select_layer mm_vision_select_feature mm_projector_lr data_mixture "
        "s2_scales s2_max_split_size s2_resize_output_to_scale_idx version lora_llm "
        "vflan_no_system_prompt model_dtype total_time_limit pre_terminate_time "
        "min_tiles max_tiles interpolate_mode use_one_logger vision_tower_lr "
        "seq_parallel_ring_size seq_parallel_ring_type longvila_sampler "
        "group_by_modality_length is_multimodal image_folder",
        check=_of_vila,
    ),
    Program(
        "TinyLLaVA/TinyLLaVA_Factory at 53f12c7, tinyllava/training_recipe",
        ("tune_type_llm", "tune_type_connector"),
        Says("tune_type_vision_tower", "frozen", ("full",), (), ("frozen",)),
        Says("tune_type_connector", "full", ("full",), (), ("frozen",)),
        Says("tune_type_llm", "frozen", ("full",), ("lora",), ("frozen",)),
        Adapters(""),
        length=512,
        other="vision_tower2 tune_embed_tokens",
        loose="image_aspect_ratio mm_patch_merge_type",
        quiet="vision_tower connector_type mm_vision_select_layer conv_version "
        "mm_vision_select_feature mm_projector_lr image_folder is_multimodal "
        "training_recipe tune_vision_tower_from_layer pretrained_model_path "
        "resampler_hidden_size num_queries num_resampler_layers vision_tower_lr "
        "group_by_modality_length double_quant quant_type",
    ),
    Program(
        "2U1/Phi3-Vision-Finetune at 9e1a5e6, src/training/train.py",
        ("tune_img_projector", "num_crops"),
        _untied("freeze_vision_tower"),
        Says("tune_img_projector"),
        _untied("freeze_llm"),
        Adapters("lora_enable", "lora_rank", beside="frozen", of_towers="vision_lora"),
        loose="num_crops max_num_frames",
        quiet=f"{_OF_2U1} projector_lr",
        check=_of_2u1,
    ),
    Program(
        "2U1/Qwen2-VL-Finetune at 6695161, src/train/train_sft.py",
        ("freeze_merger",),
        _untied("freeze_vision_tower"),
        _untied("freeze_merger"),
        _untied("freeze_llm"),
        Adapters("lora_enable", "lora_rank", of_towers="vision_lora"),
        pixels=("image_max_pixels", 0),
        other="unfreeze_topk_llm unfreeze_topk_vision num_labels mlp_head_dim "
        "focal_gamma class_balanced_beta",
        loose="video_max_pixels nframes image_resized_width image_resized_height",
        quiet=f"{_OF_2U1} image_min_pixels video_min_pixels video_resized_width "
        "video_resized_height fps merger_lr head_lr use_liger",
        check=_of_2u1,
    ),
)
_OFF = ("false", "none", "", "0", "-1", "null")
_PLAIN = ("square", "pad", "resize", "flat")  # one image of one size


def program_of(v: Values) -> Program | None:
    """The one whose words these are."""
    for program in PROGRAMS:
        if any(v.all.get(sign) is not None for sign in program.signs):
            return program
    return None


def add_parts(program: Program, v: Values, run: Run) -> None:
    """Puts what trains, and what its words say of images. Raises Unreadable."""
    parts = {"encoders": program.encoders, "aligners": program.aligners}
    said = {part: each.value(v) for part, each in parts.items()}
    trains = {part: said[part] in each.trains for part, each in parts.items()}
    decoder = program.decoder.value(v)
    frozen = [part for part in parts if not trains[part]]
    if _has_adapters(program, v, decoder):
        frozen = _add_adapters(program, v, run, trains)
    elif decoder not in program.decoder.trains:
        frozen.append(program.of_decoder)
    if frozen:
        run.program["freeze"] = ",".join(frozen)
    _read_rest(program, v, run)
    if program.check:
        program.check(v, run)
    run.notes.append(
        f"what trains is as in {program.source}; the model has a tower: give --model a "
        "file that `python -m ashlar_pp.read model` wrote of its configuration"
    )


def _has_adapters(program: Program, v: Values, decoder: str) -> bool:
    switch = program.adapters.switch
    of_towers = program.adapters.of_towers
    is_on = v.flag(switch) if switch else decoder in program.decoder.adapts
    if of_towers and v.flag(of_towers) and not is_on:
        raise Unreadable(
            f"{of_towers} without adapters of the decoder: not counted", flag=of_towers
        )
    return is_on


def _add_adapters(
    program: Program, v: Values, run: Run, trains: dict[str, bool]
) -> list[str]:
    """Puts them, and gives what is frozen beside them."""
    how = program.adapters
    places = how.places
    if pattern := v.word("lora_target_modules"):
        places = _matched(pattern)
    for key in ("lora_bias", "bits"):
        if v.word(key, default="none") not in ("none", "16"):
            raise Unreadable(f"{key} beside adapters of this program", flag=key)
    lora = [str(v.number(how.rank, default=64)), places]
    adapts_towers = bool(how.of_towers) and v.flag(how.of_towers)
    frozen = []
    for part, is_trained in trains.items():
        if part == "encoders" and adapts_towers:
            continue
        if how.beside == "frozen" or not is_trained:
            frozen.append(part)
        else:
            lora.append(f"{how.beside}={part}")
    run.program["lora"] = ",".join(lora)
    v.asked.update(("lora_alpha", "lora_dropout", "lora_weight_path"))
    return frozen


def _matched(pattern: str) -> str:
    """Places that a regular expression matches whole paths by, as peft does; of layers
    of a decoder below `llm`. Raises Unreadable."""
    try:
        path = re.compile(pattern)
    except re.error as error:
        raise Unreadable(f"lora_target_modules {pattern}: {error}") from None
    found = [one for one in _PLACES if path.fullmatch(f"llm.model.layers.0.{one}")]
    if not found:
        raise Unreadable(
            f"lora_target_modules {pattern}: it matches no matrix of a decoder of "
            "transformers below llm",
            flag="lora_target_modules",
        )
    for tower in ("vpm.encoder.layers.0.self_attn.q_proj", "resampler.kv_proj"):
        if path.fullmatch(tower):
            raise Unreadable(f"lora_target_modules {pattern}: adapters of {tower}")
    return ",".join(one.rpartition(".")[2] for one in found)


def _read_rest(program: Program, v: Values, run: Run) -> None:
    for name in program.other.split():
        if v.word(name).lower() not in _OFF:
            raise Unreadable(
                f"{name}: of {program.source}, and it is not counted", flag=name
            )
    loose, quiet = program.loose.split(), program.quiet.split()
    for key in list(v.all):
        if key in v.asked or v.all[key] is None:
            continue
        if key in loose and str(v.all[key]).lower() not in (*_OFF, *_PLAIN):
            run.unknown.append(f"{key}: other inputs than one image of one size")
            v.asked.add(key)
        elif key in (*loose, *quiet):
            run.not_read.append(key)
            v.asked.add(key)
    if program.length and v.get("model_max_length") is None:
        run.batch["sequence"] = program.length
    if program.kernel:
        run.program["attention"] = program.kernel
    word, usual = program.pixels
    pixels = v.number(word, default=usual) if word else 0
    if pixels:
        _add_pixels(pixels, v, run)


def _add_pixels(pixels: int, v: Values, run: Run) -> None:
    """Tokens of the largest image, by the sides of patches of Qwen's towers."""
    name = v.word("model_name_or_path", "model_id").lower()
    side = 16 if "qwen3" in name else 14
    run.batch["tower_tokens"] = f"visual={pixels // side**2}"
    run.notes.append(
        f"a sequence has one image of {pixels} pixels, the most that these words allow"
    )
