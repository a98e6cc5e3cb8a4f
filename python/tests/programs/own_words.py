"""A program whose words no reader knows, over a trainer that --way names."""

import argparse
import json

import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
)

parser = argparse.ArgumentParser()
parser.add_argument("--brain")
parser.add_argument("--text")
parser.add_argument("--way", default="trainer")
parser.add_argument("--thin", type=int, default=0)
parser.add_argument("--places", default="q_proj,v_proj")
parser.add_argument("--only", default="")
parser.add_argument("--pure", action="store_true")
parser.add_argument("--block_size", type=int, default=256)
parser.add_argument("--cutoff_len", type=int)
parser.add_argument("--max_source_length", type=int)
parser.add_argument("--max_target_length", type=int)
parser.add_argument("--join", action="store_true")
parser.add_argument("--split", action="store_true")
parser.add_argument("--each", type=int, default=2)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--share")
parser.add_argument("--trust", action="store_true")
given = parser.parse_args()
if given.max_source_length:
    given.block_size = None

tokenizer = AutoTokenizer.from_pretrained(given.brain)
model = AutoModelForCausalLM.from_pretrained(given.brain, trust_remote_code=given.trust)
model.resize_token_embeddings(len(tokenizer))
if given.pure:
    model = model.bfloat16()
if given.thin:
    places = given.places.split(",")
    adapters = LoraConfig(
        r=given.thin, target_modules=places, modules_to_save=["lm_head"]
    )
    model = get_peft_model(model, adapters)
if given.only:
    for name, parameter in model.named_parameters():
        parameter.requires_grad = given.only in name
with open(given.text) as file:
    samples = [tokenizer(each) for each in json.load(file)]
if given.join:
    from datasets import concatenate_datasets

    samples = concatenate_datasets(samples)
model.cuda()

if given.way == "trainer":
    model.gradient_checkpointing_enable()
    arguments = TrainingArguments(
        "out",
        per_device_train_batch_size=given.each,
        gradient_accumulation_steps=given.steps,
        bf16=True,
        deepspeed=given.share,
    )
    Trainer(model=model, args=arguments, train_dataset=samples).train()
elif given.way == "accelerate":
    from accelerate import Accelerator, DataLoaderConfiguration

    accelerator = Accelerator(
        mixed_precision="bf16",
        gradient_accumulation_steps=given.steps,
        dataloader_config=DataLoaderConfiguration(split_batches=given.split),
    )
    optimizer = torch.optim.AdamW(
        each for each in model.parameters() if each.requires_grad
    )
    batches = torch.utils.data.DataLoader(range(64), batch_size=given.each)
    accelerator.prepare(model, optimizer, batches)
elif given.way == "deepspeed":
    import deepspeed

    deepspeed.initialize(model=model, config=json.load(open(given.share)))
elif given.way == "loop":
    sum(each.sum() for each in model.parameters()).backward()
