"""DeepSpeed-Chat (deepspeedai/DeepSpeedExamples, applications/DeepSpeed-Chat): its
programs make DeepSpeed's configuration themselves, from their arguments."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ..flags import words_by_name
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from .of_trainer import of_arguments

READS = "DeepSpeed-Chat"

# Each is there in the programs of all of its steps, and in no other's.
_SIGNS = {"data_split", "zero_stage", "per_device_train_batch_size"}
# They choose samples, or print; dropout is on where the model has it on.
_QUIET = """
    data_path data_split data_output_path num_train_epochs print_loss num_warmup_steps
    add_eot_token eval_interval eval_iters lora_learning_rate enable_tensorboard
    tensorboard_path tensorboard_name num_padding_at_beginning sft_only_data_path
""".split()


def is_for(training: Training) -> bool:
    given = words_by_name(training.arguments)
    return set(given) >= _SIGNS and given.get("deepspeed") is True


def read(training: Training) -> Run:
    """Raises Unreadable."""
    folder = pathlib.Path(training.command.folder)
    given = words_by_name(training.arguments)
    if given.pop("compute_fp32_loss", None):
        raise Unreadable("compute_fp32_loss: logits in 32 bits, which are not counted")
    made = {key: value for key, value in given.items() if key not in _QUIET}
    kind = str(made.pop("dtype", "fp16"))
    if kind not in ("fp16", "bf16"):
        raise Unreadable(f"dtype {kind}: there are fp16 and bf16", flag="dtype")
    made[kind] = True
    made["max_seq_len"] = made.get("max_seq_len", 512)
    made["deepspeed"] = _configuration(made, kind)
    if "dpo" in folder.name:
        made["rl"] = "dpo"
    elif "num_padding_at_beginning" in given:
        made["reward_model"] = True
    _add_adapters(made)
    run = of_arguments(made, folder, {})
    if "modules_to_save" in made:
        run.unknown.append(
            "tables that train beside adapters: a frozen original of each is counted, "
            "so memory is less than said; norms and biases, which train, too, are not"
        )
    return run


def _configuration(made: dict[str, Any], kind: str) -> str:
    """As get_train_ds_config has it (dschat/utils/ds_utils.py)."""
    stage, device = made.pop("zero_stage"), "cpu" if made.pop("offload", None) else ""
    if str(stage) not in ("0", "1", "2", "3"):
        raise Unreadable(f"zero_stage {stage}: there are 0 to 3", flag="zero_stage")
    zero: dict[str, Any] = {"stage": int(stage), "overlap_comm": True}
    for part in ("offload_param", "offload_optimizer"):
        zero[part] = {"device": device or "none"}
    tree = {"zero_optimization": zero, kind: {"enabled": True}}
    return json.dumps({**tree, "gradient_clipping": 1.0})


def _add_adapters(made: dict[str, Any]) -> None:
    """They are beside linear layers of a decoder's layers; all that is not such a
    matrix trains with them, unless `only_optimize_lora` says otherwise."""
    rank = made.pop("lora_dim", "0")
    name = str(made.pop("lora_module_name", "decoder.layers."))
    is_alone = made.pop("only_optimize_lora", None)
    if str(rank) == "0":
        return
    if "layers" not in name and name.strip(".") not in ("h", "transformer.h"):
        raise Unreadable(f"lora_module_name {name}: adapters beside a part of a layer")
    made["lora_r"], made["lora_target_modules"] = rank, "all"
    if not is_alone:
        head = "" if "reward_model" in made else " lm_head"
        made["modules_to_save"] = "embed_tokens" + head
