"""XTuner."""
import textwrap
from pathlib import Path

from launch_reading import check_run, of_script, read

# Version 0: reduced from xtuner/configs, which all have these parts.
FINE_TUNING = textwrap.dedent("""\
    import torch
    from mmengine.optim import AmpOptimWrapper
    from peft import LoraConfig
    from torch.optim import AdamW
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    from xtuner.dataset import process_hf_dataset
    from xtuner.model import SupervisedFinetune

    name = "{name}"
    sequence_parallel_size = {ranks}
    batch_size = 2
    accumulative_counts = 4
    accumulative_counts *= sequence_parallel_size
    optim_type = AdamW
    llm = dict(type=AutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path=name, torch_dtype=torch.float16)
    model = dict(type=SupervisedFinetune, llm=llm{adapters})
    train_dataset = dict(type=process_hf_dataset, max_length=2048, pack_to_max_length=True)
    train_dataloader = dict(batch_size=batch_size, num_workers=0, dataset=train_dataset)
    optim_wrapper = dict(
        type=AmpOptimWrapper, optimizer=dict(type=optim_type, lr=1e-4), accumulative_counts=accumulative_counts, dtype="float16")
    custom_hooks = [dict(type="x")]
    if sequence_parallel_size > 1:
        custom_hooks += [dict(type="y")]
    """)
LORA = ", lora=dict(type=LoraConfig, r=64, lora_dropout=0.1, bias='none')"
PACKED = ("; llm['quantization_config'] = dict(type=BitsAndBytesConfig, load_in_4bit=True, load_in_8bit=False,"
          " bnb_4bit_use_double_quant=True)")
PREFERRED = FINE_TUNING.replace("SupervisedFinetune", "DPO")
IMAGES = textwrap.dedent("""\
    from torch.optim import AdamW
    from xtuner.model import LLaVAModel
    clip = "openai/clip-vit-large-patch14-336"
    max_length = int(2048 - (336 / 14)**2)
    model = dict(type=LLaVAModel, freeze_llm=True, freeze_visual_encoder=True, llm=dict(pretrained_model_name_or_path="a/b"),
                 visual_encoder=dict(pretrained_model_name_or_path=clip){adapters})
    train_dataloader = dict(batch_size=16, dataset=dict(max_length=max_length))
    optim_wrapper = dict(type="AmpOptimWrapper", optimizer=dict(type=AdamW))
    """)
# Version 1: reduced from ci/config.
MIXTURE = textwrap.dedent("""\
    import os
    from xtuner.v1.config import AdamWConfig, FSDPConfig, LRConfig
    from xtuner.v1.datasets.config import DataloaderConfig
    from xtuner.v1.loss.ce_loss import CELossConfig
    from xtuner.v1.model.moe.qwen3 import Qwen3MoE30BA3Config
    from xtuner.v1.train import TrainerConfig
    PATH = os.environ["MODEL_PATH"]
    moe_cfg = Qwen3MoE30BA3Config({model})
    {more}
    trainer = TrainerConfig(
        load_from=PATH, model_cfg=moe_cfg, optim_cfg=AdamWConfig(lr=6e-05), fsdp_cfg=FSDPConfig(ep_size=moe_cfg.ep_size{sharing}),
        dataloader_cfg=DataloaderConfig(pack_max_length=int(os.environ.get("LENGTH", "16384"))), lr_cfg=LRConfig(),
        loss_cfg=CELossConfig(mode="chunk"), tokenizer_path=PATH, global_batch_size=16, total_epoch=1)
    """)


def filled(text, **parts):
    for name, value in {"name": "internlm/internlm2-7b", "ranks": "1", "adapters": "", "model": "", "more": "", "sharing": "", **parts}.items():
        text = text.replace("{" + name + "}", value)
    return text


# A configuration, words of the command, and parts of the run, or of the error.
CASES = [
    # accumulative_counts is of all ranks of a sequence, and adapters without places are beside all matrices but the head.
    (filled(FINE_TUNING, adapters=LORA), "", {
        "batch.micro_batch": 2, "batch.micro_batches": 4, "batch.sequence": 2048, "program.lora": "64,qkv_proj,o_proj,mlp", "program.precision": "fp16",
        "layout.sharding": "none", "layout.recompute": "full", "program.frozen_weights": None}),
    (filled(FINE_TUNING, adapters=LORA, name="meta-llama/Llama-2-7b-hf"), "", {"program.lora": "64"}),
    (filled(FINE_TUNING, adapters=LORA, name="microsoft/Phi-3-mini-4k-instruct"), "", {"program.lora": "64,qkv_proj,o_proj,gate_up_proj,down_proj"}),
    # peft holds the rest in 32 bits; DeepSpeed makes it 16 again.
    (filled(FINE_TUNING, adapters=LORA + ")" + PACKED[:-1]), "", {"program.frozen_weights": "4-bit,double,rest=32-bit"}),
    (filled(FINE_TUNING, adapters=LORA + ")" + PACKED[:-1]), "--set deepspeed=deepspeed_zero2", {"program.frozen_weights": "4-bit,double"}),
    (filled(FINE_TUNING), "--set deepspeed=deepspeed_zero2", {
        "deepspeed.zero_optimization.stage": 2, "deepspeed.zero_optimization.overlap_comm": True, "deepspeed.bf16.enabled": True,
        "deepspeed.fp16.enabled": False, "deepspeed.train_micro_batch_size_per_gpu": 2, "deepspeed.gradient_accumulation_steps": 4, "unknown": None}),
    (filled(FINE_TUNING), "--set deepspeed=deepspeed_zero3_offload", {
        "deepspeed.zero_optimization.offload_optimizer.device": "cpu", "deepspeed.zero_optimization.offload_param.device": "cpu"}),
    (filled(FINE_TUNING), "--set deepspeed=deepspeed_zero2_offload", {
        "deepspeed.zero_optimization.offload_optimizer.device": "cpu", "deepspeed.zero_optimization.offload_param": None}),
    (filled(FINE_TUNING, ranks="4"), "--set deepspeed=deepspeed_zero1", {"layout.context": 4, "deepspeed.gradient_accumulation_steps": 16}),
    (filled(FINE_TUNING, ranks="4"), "", "at which XTuner stops"),
    (filled(FINE_TUNING), "--set batch_size=4", "train_dataloader.batch_size"),
    (filled(FINE_TUNING), "--set train_dataloader.batch_size=4", {"batch.micro_batch": 4}),
    (filled(FINE_TUNING).replace("lr=1e-4", "lr=1e-4").replace("type=optim_type", "type='torch.optim.SGD'"), "", "only the state of Adam"),
    (filled(FINE_TUNING, adapters=")" + PACKED[:-1]), "", "beside adapters alone"),
    # A sample is two answers, and the reference is a copy; a pack holds both.
    (filled(PREFERRED), "", {"batch.micro_batch": 4, "program.frozen_forwards": 1, "program.frozen_copy": True}),
    (filled(PREFERRED, adapters=", use_varlen_attn=True").replace("max_length=2048", "max_length=2048, max_packed_length=16384"), "", {
        "batch.micro_batch": 2, "batch.sequence": 16384, "program.frozen_forwards": 1}),
    (filled(PREFERRED).replace("DPO", "ORPO"), "", {"batch.micro_batch": 4, "program.frozen_forwards": None}),
    (filled(PREFERRED).replace("DPO", "RewardModel"), "", {"batch.micro_batch": 4, "program.head": "1"}),
    # 1472 words, one of which becomes the 576 tokens of an image.
    (filled(IMAGES), "", {"batch.sequence": 2047, "program.freeze": "vision_tower,embedding,head,layers", "towers.1.products.0.inner": 1024,
                          "towers.1.tokens": 576}),
    (filled(IMAGES, adapters=", llm_lora=dict(r=128)"), "", {
        "program.freeze": "vision_tower",
        "program.lora": "128,q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj,whole=multi_modal_projector"}),
    (filled(IMAGES, adapters=", visual_encoder_lora=dict(r=64)"), "", "adapters in a tower"),
    (filled(IMAGES).replace("freeze_llm=True", "freeze_llm=False").replace("coder=True", "coder=False"), "", {"program.freeze": None}),
    (filled(MIXTURE), "", {
        "batch.sequence": 16384, "batch.sequences": 16, "batch.micro_batch": 1, "layout.sharding": "full", "layout.recompute": "full", "unknown": None,
        "layout.expert": None, "program.fact": "fused-activation=on,fused-rotation=on,loss=chunks"}),
    (filled(MIXTURE, model="ep_size=8, compile_cfg=False", sharing=", cpu_offload=True"), "", {
        "layout.expert": 8, "layout.offload_weights": "own", "program.fact": "loss=chunks"}),
    (filled(MIXTURE, more="moe_cfg.ep_size = 4", sharing=", hsdp_sharding_size=8"), "", {"layout.expert": 4, "layout.shard_ranks": 8}),
    (filled(MIXTURE, sharing=", recompute_ratio=0.5"), "", "recompute_ratio=1"),
    (filled(MIXTURE, sharing=", tp_size=2"), "", "tensor ranks of experts alone"),
    (filled(MIXTURE, model="num_hidden_layers=3"), "", "another size than Qwen3MoE30BA3Config"),
    (filled(MIXTURE).replace("TrainerConfig", "RLColocateTrainerConfig"), "", "generates answers"),
    (filled(MIXTURE, more="raise RuntimeError('DATA is required')"), "", "line 9: it stops by RuntimeError('DATA is required')"),
]
LAUNCHES = {
    "NPROC_PER_NODE=8 xtuner train tuning.py --deepspeed deepspeed_zero1 --seed 1": {
        "deepspeed.zero_optimization.stage": 1, "layout.data": None, "unknown": None},
    "xtuner train tuning.py --cfg-options train_dataloader.batch_size=1": {"batch.micro_batch": 1, "layout.data": 1},
    "xtuner train tuning --launcher pytorch": {"batch.micro_batch": 2},
    "xtuner train other": "xtuner copy-cfg other",
    "xtuner convert pth_to_hf a b c": "starts no training",
    "MODEL_PATH=a LENGTH=4096 torchrun --nproc-per-node 8 -m xtuner.v1.train.cli.sft --config mixture.py": {
        "batch.sequence": 4096, "layout.shard_ranks": 2},
    "torchrun --nproc-per-node 8 xtuner/v1/train/cli/sft.py --model-cfg a": "write a configuration with `trainer`",
}


def check(folder):
    path = Path(folder, "case.py")
    for text, words, expected in CASES:
        path.write_text(text)
        check_run(text, *read("recipe", folder, [*words.split(), str(path)]), expected)
    own = Path(folder, "xtuner", "configs", "a")
    own.mkdir(parents=True)
    for place in (Path(folder), own):
        Path(place, "tuning.py").write_text(filled(FINE_TUNING))
    Path(folder, "mixture.py").write_text(filled(MIXTURE, model="ep_size=4"))
    for script, expected in LAUNCHES.items():
        check_run(script, *of_script(folder, script), expected)
