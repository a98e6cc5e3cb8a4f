"""Runs a small GPTModel of Megatron-Core on CPUs, under Megatron's schedules and ours.

usage: megatron_rank.py WORK   (by torchrun)

WORK: JSON with a list of runs: `schedule` (the JSON of a schedule; null: Megatron's
own), `ranks` and `chunks` (for Megatron's own), and options of `run`. Rank 0 prints, as
the last line, for each run the largest difference of gradients or weights to those of
the first run, relative to the largest, and the largest difference of losses. Later runs
are compared with the last one before them that has `compare_from_here`. For a run with
`refused`, it prints the error, and with `nodes` also the nodes of layers that ran, by
rank and stream. Functions that a CPU lacks are replaced. Weights depend
on their names and layers alone. Rank 1 ends as `end` says in its third micro-batch.
"""

import contextlib
import json
import pathlib
import sys
import time
import types
import warnings
import zlib

import torch
import torch.cuda.random
import torch.distributed as dist

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.cuda.current_device = lambda: "cpu"
torch.cuda.synchronize = lambda *_, **__: None
torch.cuda.manual_seed = lambda _: None
torch.cuda.get_rng_state = torch.cuda.random.get_rng_state = lambda *_, **__: (
    torch.get_rng_state()
)
torch.cuda.set_rng_state = torch.cuda.random.set_rng_state = lambda state, *_, **__: (
    torch.set_rng_state(state)
)
torch.cuda.is_current_stream_capturing = lambda: False
torch.cuda.nvtx = types.SimpleNamespace(
    range_push=lambda *_: None, range_pop=lambda *_: None
)
nothing = types.SimpleNamespace(
    wait_stream=lambda *_: None, synchronize=lambda: None, wait_event=lambda *_: None
)
torch.cuda.current_stream = torch.cuda.Stream = lambda *_, **__: nothing
torch.cuda.stream = lambda *_, **__: contextlib.nullcontext()
torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_, **__: self
for name in ("zeros", "ones", "empty", "tensor", "full"):

    def on_cpu(own):
        def made(*args, **more):
            if str(more.get("device", "")).startswith("cuda"):
                more["device"] = "cpu"
            return own(*args, **more)

        return made

    setattr(torch, name, on_cpu(getattr(torch, name)))
for name in (
    "FloatTensor",
    "IntTensor",
    "DoubleTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "LongTensor",
):
    setattr(torch.cuda, name, getattr(torch, name))
own_type = torch.Tensor.type
torch.Tensor.type = lambda self, *args, **more: (
    own_type(self, *args, **more)
    if args or more
    else own_type(self).replace("torch.", "torch.cuda.")
)

import megatron.core.tensor_parallel.random as parallel_random  # noqa: E402
import megatron_nodes  # noqa: E402
from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt.gpt_layer_specs import (  # noqa: E402
    get_gpt_decoder_block_spec,
    get_gpt_layer_local_spec,
    get_gpt_mtp_block_spec,
)
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.process_groups_config import ProcessGroupCollection  # noqa: E402
from megatron.core.transformer.moe import moe_utils  # noqa: E402
from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler  # noqa: E402
from megatron.core.transformer.multi_token_prediction import (  # noqa: E402
    MTPLossAutoScaler,
    MTPLossLoggingHelper,
    get_mtp_ranks,
)
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402
from megatron.core.utils import get_attr_wrapped_model  # noqa: E402
from torch.nn.parallel import DistributedDataParallel as TorchDistributedDataParallel  # noqa: E402

import ashlar_pp  # noqa: E402
import ashlar_pp.megatron  # noqa: E402
from ashlar_pp.torch import stages_of  # noqa: E402

# 0.16.1 needs it even without Transformer Engine
if not hasattr(moe_utils, "te_general_gemm"):
    moe_utils.te_general_gemm = None
parallel_random._get_cuda_rng_state = lambda *_, **__: torch.get_rng_state()
parallel_random._set_cuda_rng_state = lambda state, *_, **__: torch.set_rng_state(state)

LENGTH, VOCABULARY, WIDTH, LAYERS = 8, 32, 16, 8
failing = []  # actions of rank 1 in its next micro-batches, the last one first


def raise_an_error():
    raise KeyError("no label")


ENDS = {"raises": raise_an_error, "sleeps": lambda: time.sleep(1000)}
EXPERTS = {
    "num_moe_experts": 2,
    "moe_router_topk": 1,
    "moe_aux_loss_coeff": 0.01,
    "moe_router_load_balancing_type": "aux_loss",
    "moe_router_pre_softmax": True,
    "add_bias_linear": False,
    "moe_token_dispatcher_type": "allgather",
}


EXCHANGED = EXPERTS | {
    "num_moe_experts": 4,
    "moe_router_topk": 2,
    "moe_token_dispatcher_type": "alltoall",
    "expert_model_parallel_size": 2,
}  # between two ranks


def global_name(model, name):
    parts = name.split(".")
    if name == "embedding.word_embeddings.weight" and not model.pre_process:
        return "of mtp: " + name
    if parts[0] == "decoder" and "layers" in parts:
        at = parts.index("layers") + 1
        parts[at] = str(model.decoder.layers[int(parts[at])].layer_number - 1)
    return ".".join(parts)


def set_weights(chunks):
    for model in chunks:
        for name, p in model.named_parameters():
            if getattr(p, "shared", False) and model.pg_collection.embd is None:
                continue  # share_embeddings has to set it
            tied = name == "output_layer.weight" and shares(model)
            own = name if "embedding" in name else global_name(model, name)
            known = "embedding.word_embeddings.weight" if tied else own
            made = torch.Generator().manual_seed(zlib.crc32(known.encode()))
            value = torch.randn(p.shape, generator=made, dtype=torch.float64) * 0.1
            with torch.no_grad():
                p.copy_(value + ("norm" in name and "weight" in name))


def must_be_saved_by_number(chunks, metadata):
    """Checks a distributed checkpoint: layers are indices of the first dimension, or in
    names if they are not alike.
    """
    for model in chunks:
        saved = model.sharded_state_dict(metadata=metadata)
        for name, _ in model.named_parameters():
            if name.startswith("decoder.layers."):
                number = int(global_name(model, name).split(".")[2])
                assert (
                    f".layers.{number}." in saved[name].key
                    or saved[name].global_offset[0] == number
                ), (name, saved[name])


def embedding_ranks(group, config, tied):
    """The ranks with the word embedding, as in Megatron-LM's pretrain_gpt.py."""
    return sorted(
        {group[0], *([group[-1]] if tied else []), *get_mtp_ranks(group, config)}
    )


def shares(model):
    return model.share_embeddings_and_output_weights


def batches(count, seed):
    dice = torch.Generator().manual_seed(seed)
    for _ in range(count):
        tokens = torch.randint(VOCABULARY, (2, LENGTH + 1), generator=dice)
        yield tokens[:, :-1], tokens[:, 1:]


def forward_step(iterator, model, return_schedule_plan=False):
    tokens, labels = next(iterator)
    if failing and dist.get_rank() == 1:
        failing.pop()()
    mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool).triu(1)
    call = model.build_schedule_plan if return_schedule_plan else model
    output = call(tokens, torch.arange(LENGTH).expand(2, -1), mask, labels=labels)
    per_token = get_attr_wrapped_model(model, "config").calculate_per_token_loss

    def loss_of(output):
        loss = output.mean()
        told = {"loss": loss.detach().clone()}
        return (
            (output.sum(), torch.tensor(output.numel(), dtype=torch.int), told)
            if per_token
            else (loss, told)
        )

    return output, loss_of


def run(
    *,
    schedule,
    ranks,
    chunks=1,
    micro_batches=4,
    steps=0,
    overlap=False,
    distributed=False,
    sync=False,
    deallocate=False,
    experts=False,
    layout=None,
    tied=False,
    delayed=False,
    mtp=0,
    layers=LAYERS,
    per_token=False,
    scale=0,
    clip=1.0,
    gradients=False,
    pattern=None,
    by_hand="",
    wrap=False,
    frozen=(),
    minutes=30,
    exchanged=False,
    combined=False,
    shared=0,
    parts=None,
):
    """Returns gradients of a step by name, or with steps > 0 the weights after these
    steps of Adam, or with `gradients` the reduced gradients of the last one; and
    losses.

    pattern: which layers have experts; the others have no rotary embedding. by_hand:
    chunks are made with place_of, or with "specs" their specs are made outside of
    chunks_of. wrap: chunks are in torch's DistributedDataParallel. frozen: prefixes of
    the names of frozen parameters. exchanged: experts are on two ranks. combined: under
    overlap_moe_expert_parallel_comm. shared: width of a shared expert. parts: file of
    costs with the parts of passes.
    """
    if schedule:
        schedule = ashlar_pp.read_json(schedule)
        ranks, chunks = schedule.devices, schedule.stages // schedule.devices
    several = chunks > 1
    dtype = torch.float32 if steps else torch.float64
    config = TransformerConfig(
        num_layers=layers,
        hidden_size=WIDTH,
        num_attention_heads=2,
        use_cpu_initialization=True,
        pipeline_model_parallel_size=ranks,
        virtual_pipeline_model_parallel_size=chunks if several else None,
        pipeline_dtype=dtype,
        params_dtype=dtype,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        attention_softmax_in_fp32=False,
        bias_dropout_fusion=False,
        masked_softmax_fusion=False,
        gradient_accumulation_fusion=False,
        deallocate_pipeline_outputs=deallocate,
        batch_p2p_comm=not several,
        overlap_p2p_comm=several,
        batch_p2p_sync=False,
        pipeline_model_parallel_layout=layout,
        mtp_num_layers=mtp or None,
        calculate_per_token_loss=per_token,
        **(EXCHANGED if exchanged else EXPERTS if experts or pattern else {}),
        **({"moe_shared_expert_intermediate_size": shared} if shared else {}),
        **({"moe_layer_freq": pattern, "no_rope_freq": pattern} if pattern else {}),
    )
    config.overlap_moe_expert_parallel_comm = combined
    config.delay_wgrad_compute = delayed
    config.grad_scale_func = (lambda loss: scale * loss) if scale else None
    # clears the state of the run before
    for scaler in (
        MTPLossAutoScaler,
        MoEAuxLossAutoScaler,
    ):
        scaler.set_loss_scale(torch.full((1,), float("nan")))
    MTPLossLoggingHelper.tracker.clear()
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(
        1,
        ranks,
        chunks if several else None,
        expert_model_parallel_size=config.expert_model_parallel_size,
        create_gloo_process_groups=True,
        distributed_timeout_minutes=minutes,
        get_embedding_ranks=lambda group: embedding_ranks(group, config, tied),
    )
    parallel_random.model_parallel_cuda_manual_seed(1)
    groups = ProcessGroupCollection.use_mpu_process_groups()
    rank, replica = (
        parallel_state.get_pipeline_model_parallel_rank(),
        parallel_state.get_data_parallel_rank(),
    )
    looped = (
        schedule
        or ashlar_pp.catalog.depth_first(
            ranks, max(micro_batches, ranks), chunks=chunks
        )
        if several
        else schedule
    )
    looped = looped or ashlar_pp.catalog.one_f_one_b(ranks, micro_batches)
    spec = get_gpt_layer_local_spec(
        num_experts=config.num_moe_experts if experts or exchanged else None,
        moe_grouped_gemm=False,
    )
    outside = (
        [
            get_gpt_decoder_block_spec(config, False, vp_stage=chunk)
            for chunk in range(chunks)
        ]
        if by_hand == "specs"
        else []
    )

    def build(**place):
        more = {
            "vocab_size": VOCABULARY,
            "max_sequence_length": LENGTH,
            "share_embeddings_and_output_weights": tied,
        }
        own = spec
        if pattern:
            more["position_embedding_type"] = "rope"
            own = get_gpt_decoder_block_spec(config, False, vp_stage=place["vp_stage"])
        if outside:
            own = outside[place["vp_stage"]]
        if mtp:
            more["position_embedding_type"] = "rope"
            more["mtp_block_spec"] = get_gpt_mtp_block_spec(
                config, spec, False, vp_stage=place["vp_stage"]
            )
        model = GPTModel(config, own, **more, **place).to(dtype)
        model.model_type = None
        if delayed and exchanged:
            megatron_nodes.delay(model)
        return model

    if by_hand == "places":
        made = [
            build(**ashlar_pp.megatron.place_of(looped, stage, groups))
            for stage in stages_of(looped, rank)
        ]
    else:
        made = ashlar_pp.megatron.chunks_of(looped, groups, build)
    set_weights(made)
    ashlar_pp.megatron.share_embeddings(made)
    for one in made:
        for name, p in one.named_parameters():
            p.requires_grad_(not global_name(one, name).startswith(tuple(frozen)))
    model = made
    if layout or pattern:
        must_be_saved_by_number(made, {"dp_cp_group": groups.dp_cp})
    if wrap:
        model = [
            TorchDistributedDataParallel(one, process_group=groups.dp) for one in made
        ]
    optimizer = None
    if steps:
        settings = DistributedDataParallelConfig(
            grad_reduce_in_fp32=False,
            overlap_grad_reduce=overlap,
            use_distributed_optimizer=distributed,
            bucket_size=2000,
            delay_wgrad_compute=delayed,
        )
        model = [
            DistributedDataParallel(config, settings, one, disable_bucketing=False)
            for one in made
        ]
        config.no_sync_func = (
            [one.no_sync for one in model] if several else model[0].no_sync
        )
        if sync:
            config.grad_sync_func = (
                [one.start_grad_sync for one in model]
                if several
                else model[0].start_grad_sync
            )
        config.finalize_model_grads_func = finalize_model_grads
        wanted = OptimizerConfig(
            optimizer="adam",
            lr=1e-2,
            clip_grad=clip,
            use_distributed_optimizer=distributed,
            params_dtype=dtype,
        )
        optimizer = get_megatron_optimizer(wanted, model)
        config.grad_scale_func = optimizer.scale_loss
    elif tied:
        config.finalize_model_grads_func = None
    go = (
        ashlar_pp.megatron.forward_backward(
            schedule, parts=ashlar_pp.read_parts(parts) if parts else None
        )
        if schedule
        else get_forward_backward_func()
    )
    losses = []
    for step in range(max(1, steps)):
        for one in model if optimizer else ():
            one.zero_grad_buffer()
        if optimizer:
            optimizer.zero_grad()
        iterators = [batches(micro_batches, 100 * step + replica) for _ in model]
        one_chunk = not schedule and not several
        losses += go(
            forward_step_func=forward_step,
            data_iterator=iterators[0] if one_chunk else iterators,
            model=model[0] if one_chunk else model,
            num_microbatches=micro_batches,
            seq_length=LENGTH,
            micro_batch_size=2,
            forward_only=False,
        )
        if optimizer and not gradients:
            optimizer.step()
    # evaluates another number of micro-batches, without gradients
    if schedule and not steps:
        evaluated = go(
            forward_step_func=forward_step,
            data_iterator=[batches(micro_batches - 1, replica) for _ in model],
            model=model,
            num_microbatches=micro_batches - 1,
            seq_length=LENGTH,
            micro_batch_size=2,
            forward_only=True,
        )
        assert evaluated == losses[:-1], (evaluated, losses)
    which = f" of {replica}" if exchanged else ""
    values = {
        global_name(one, name) + which: (
            p.main_grad if gradients else p.detach() if steps else p.grad
        ).clone()
        for one in made
        for name, p in one.named_parameters()
        if steps or p.grad is not None
    }
    return values, [float(one["loss"]) for one in losses]


def whole(values, losses):
    each = [None] * dist.get_world_size()
    dist.all_gather_object(each, (values, losses))
    joined = {}
    for one, _ in each:
        joined |= one
    return joined, sorted(loss for _, told in each for loss in told)


def nodes_by_stream():
    """The nodes that have run since the last call, by stream, on each rank."""
    mine = {}
    for stream, what in megatron_nodes.nodes.ran:
        mine.setdefault(stream, []).append(what)
    megatron_nodes.nodes.ran = []
    each = [None] * dist.get_world_size()
    dist.all_gather_object(each, mine)
    return each


def main():
    dist.init_process_group("gloo")
    expected, answers = None, []
    runs = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if any(options.get("combined") for options in runs):
        megatron_nodes.record()
    for options in runs:
        tells_nodes = options.pop("nodes", False)
        if end := options.pop("end", None):
            failing[:] = [ENDS[end], *[lambda: None] * 2]
        if options.pop("compare_from_here", False):
            expected = None
        if options.pop("refused", False):
            try:
                run(**options)
                answers.append("")
            except ValueError as error:
                answers.append(str(error))
            continue
        values, losses = whole(*run(**options))
        expected = expected or (values, losses)
        assert values.keys() == expected[0].keys() and len(losses) == len(
            expected[1]
        ), values.keys() ^ expected[0].keys()
        far = max(
            float((v - expected[0][k]).abs().max() / expected[0][k].abs().max())
            for k, v in values.items()
        )
        answers.append([far, max(abs(a - b) for a, b in zip(losses, expected[1]))])
        ran = nodes_by_stream()
        if tells_nodes:
            answers[-1].append(ran)
    if dist.get_rank() == 0:
        print(json.dumps(answers), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
