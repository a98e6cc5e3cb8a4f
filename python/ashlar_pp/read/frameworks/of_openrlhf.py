"""OpenRLHF: supervised training, DPO, reward models, and the step that trains the actor
of PPO and its like, by DeepSpeed; arguments of version 0.10, with dots, and those of
before."""

from __future__ import annotations

import pathlib

from ..facts.adapters import lora_words
from ..facts.attention_kernels import add_attention
from ..facts.local_models import add_local_model
from ..facts.optimizers import other_optimizer
from ..facts.preferences import adds_reference, double_batch
from ..facts.updates import add_update
from ..flags import words_by_name
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, packed, sorted_out

READS = "OpenRLHF"

_OF_ACTOR, _OF_SUPERVISED = "train_ppo_ray", "train_sft"
_OF_DPO, _OF_REWARDS = "train_dpo", "train_rm"
_KINDS = (_OF_ACTOR, _OF_SUPERVISED, _OF_DPO, _OF_REWARDS)
_REFUSED = {
    "train_kto": "a second model runs beside the one that trains",
    "train_kd": "a second model runs beside the one that trains",
    "train_ppo": "version 0.5 and before: the script of train_ppo_ray is read",
}
_STAGES = ("none", "optimizer", "gradients", "full")
# Words that change nothing in one step; with dots, then as they were before.
_QUIET = """
    data. ckpt. logger. eval. adam. actor.adam. critic. ref. reward. vllm. rollout.
    algo. lr_ min_lr max_norm train.max_epochs train.num_episodes train.seed
    train.colocate train.agent train.async train.partial train.ema train.full_det
    actor.eps actor.dual
    actor.num_ actor.lr actor.min_lr actor.max_norm actor.policy actor.entropy
    actor.aux model.aux model.lm ds.enable_sleep ds.overlap_comm ds.packing ds.lora.
    ds.value ds.ring_attn_head model.gradient_checkpointing_r ds.use_universal
    actor.gradient_checkpointing_r ds.grad_accum actor.freezing muon. actor.muon.
    save_ ckpt_ load_ logging_ eval_ max_epochs max_samples dataset input_ output_
    apply_chat use_wandb wandb_ use_tensorboard learning_rate l2 lr_warmup
    actor_num_ actor_learning critic_ ref_ reward_ vllm_ colocate_ n_samples rollout_
    prompt_data label_ kl_ init_kl advantage_ gamma lambd eps_clip value_clip
    normalize_ num_episodes remote_rm packing_samples flash_attn use_kl
    enforce_eager disable_fast enable_ema seed local_rank micro_rollout adam_betas
    adam_beta max_ckpt deepspeed_enable overlap_comm ring_head aux_loss use_ms
    gradient_checkpointing_use pretrain_mode top_p temperature dynamic_filtering
    async_ agent_func enable_prefix entropy_ save_path model.beta beta model.ipo ipo
    model.label_smoothing label_smoothing model.nll nll_ chosen_key rejected_key
    ds.value_head value_head_prefix model.loss_type loss model.margin margin_loss
    model.compute_fp32 compute_fp32
""".split()


def is_for(training: Training) -> bool:
    return "openrlhf" in training.program


def read(training: Training) -> Run:
    """Raises Unreadable."""
    kind = training.name.removesuffix(".py").rpartition(".")[2]
    if kind not in _KINDS:
        why = _REFUSED.get(kind, "it trains nothing that is read here")
        raise Unreadable(f"{training.program}: {why}")
    v = Values(words_by_name(training.arguments), training.program)
    run = Run()
    is_actor = kind == _OF_ACTOR
    _read_model(v, run, pathlib.Path(training.command.folder), is_actor)
    _read_sharing(v, run, is_actor)
    _read_batch(v, run, kind)
    if kind in (_OF_DPO, _OF_REWARDS):
        _read_pairs(v, run, kind)
    if is_actor:
        add_update(run, "OpenRLHF")
    else:
        run.notes.append("all sequences are taken to be of full length")
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _has_dots(v: Values) -> bool:
    """Whether they are arguments of version 0.10."""
    return any("." in key for key in v.all)


def _read_model(v: Values, run: Run, folder: pathlib.Path, is_actor: bool) -> None:
    part = "actor" if is_actor else "model"
    name = v.word(part + ".model_name_or_path", "pretrain")
    add_local_model(run, name, folder)
    rank = v.number("ds.lora.rank", "lora_rank", default=0)
    if rank:
        targets = v.get("ds.lora.target_modules", "target_modules") or "all-linear"
        run.program["lora"] = lora_words(rank, targets)
    # Their scales are packed, too (openrlhf/models/actor.py).
    for key in ("ds.load_in_4bit", "load_in_4bit"):
        if v.flag(key):
            if not rank:
                raise Unreadable(f"--{key}: weights in 4 bits do not train", flag=key)
            run.program["frozen_weights"] = "4-bit,double"
    for key in ("actor.freeze_visual_encoder", "freeze_visual_encoder"):
        if v.flag(key):
            raise Unreadable(f"--{key}: a tower of images beside the decoder", flag=key)
    for key in ("data.image_key", "image_key"):
        if v.get(key):
            run.unknown.append(f"{key}: what images add")
    for key in ("optim", "actor.optim"):
        if v.word(key, default="adam") != "adam":
            raise other_optimizer(v.where, key, v.word(key), "adam")
    if v.flag(part + ".gradient_checkpointing_enable", "gradient_checkpointing"):
        run.layout["recompute"] = "full"


def _read_sharing(v: Values, run: Run, is_actor: bool) -> None:
    stage = v.number("ds.zero_stage", "zero_stage", default=2)
    if stage >= len(_STAGES):
        raise Unreadable(f"--zero_stage {stage}: there are 0 to 3", flag="zero_stage")
    run.layout["sharding"] = _STAGES[stage]
    if v.flag("ds.adam_offload", "adam_offload"):
        run.layout["offload_optimizer"] = True
    ranks = v.number("ds.zpg", "zpg", default=1)
    if ranks > 1 and stage == len(_STAGES) - 1:
        run.layout["weight_ranks"] = ranks
    run.layout["context"] = v.number("ds.ring_attn_size", "ring_attn_size", default=1)
    run.layout["tensor"] = v.number(
        "ds.tensor_parallel_size", "ds_tensor_parallel_size", default=1
    )
    usual = "bf16" if _has_dots(v) else ""
    said = v.word("ds.param_dtype", "param_dtype", default=usual)
    # Before, a flag.
    is_bf16 = v.flag("bf16")
    run.program["precision"] = said or ("bf16" if is_bf16 else "fp32")
    kernel = v.word("ds.attn_implementation", "attn_implementation")
    add_attention(run, "attn_implementation", kernel)
    nodes = v.get("actor.num_nodes", "actor_num_nodes")
    devices = v.get("actor.num_gpus_per_node", "actor_num_gpus_per_node")
    if is_actor and nodes and devices:
        run.notes.append(f"launched on {nodes} x {devices} devices")


def _read_pairs(v: Values, run: Run, kind: str) -> None:
    """The two answers of a sample go through the model together."""
    double_batch(run)
    run.notes.append(f"{kind}: a sample is two sequences, of the two answers")
    if kind == _OF_REWARDS:
        run.program["head"] = "1"
        return
    adds_reference(run, 1)
    if run.program.get("lora"):
        # openrlhf/cli/train_dpo.py makes it beside adapters, too.
        run.unknown.append("weights of the reference, a second model in 16 bits")
    for key in ("ref.offload", "ref_offload"):
        if v.flag(key):
            run.unknown.append(f"{key}: weights of the reference come from the host")


def _read_batch(v: Values, run: Run, kind: str) -> None:
    is_actor = kind == _OF_ACTOR
    length = _length(v, kind)
    samples = v.number("train.batch_size", "train_batch_size", default=128)
    run.batch = {"sequence": length, "sequences": samples}
    usual = 1 if kind == _OF_REWARDS else 8
    if is_actor:
        usual = 1 if _has_dots(v) else 4
    micro = v.number("train.micro_batch_size", "micro_train_batch_size", default=usual)
    key = "train.dynamic_batch_enable"
    if v.flag(key, "use_dynamic_batch"):
        most = v.number(
            "train.max_tokens_per_gpu", "train_max_tokens_per_gpu", default=16192
        )
        run.unknown.append(f"{key} (micro-batches of {most} tokens)")
        # Ranks of one ring hold a sequence together.
        together = most * int(run.layout["context"]) // length
        micro = packed(_samples_of_rank(v, run, samples), together)
    run.batch["micro_batch"] = micro


def _samples_of_rank(v: Values, run: Run, samples: int) -> int:
    names = ("num_nodes", "num_gpus_per_node")
    counts = [v.get(f"actor.{name}", f"actor_{name}") for name in names]
    if not all(str(count).isdigit() for count in counts):
        return samples
    ranks = int(str(counts[0])) * int(str(counts[1]))
    ranks //= int(run.layout["context"]) * int(run.layout["tensor"])
    return samples // ranks if ranks and samples % ranks == 0 else samples


def _length(v: Values, kind: str) -> int:
    if v.get("data.max_len", "max_len") is not None:
        return v.number("data.max_len", "max_len")
    if kind in (_OF_DPO, _OF_REWARDS):
        return 512
    if kind != _OF_ACTOR or _has_dots(v):
        return 2048
    prompt = v.number("prompt_max_len", default=1024)
    return prompt + v.number("generate_max_len", default=1024)
