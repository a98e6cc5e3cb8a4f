"""`ashlar_pp.layout` asks the tool, and has its answer or its refusal."""

import os
import shutil

import pytest

import ashlar_pp

TOOL = os.environ.get("ASHLAR", "ashlar")
RUN = {"cluster": "8x8xH100", "sequence": 8192, "batch": 128, "tool": TOOL}
needs_tool = pytest.mark.skipif(shutil.which(TOOL) is None, reason="without the tool")


@needs_tool
def test_a_layout_has_every_layer_once():
    found = ashlar_pp.layout(
        "llama3-70b", 4, 5, tensor=4, sharding="optimizer", against="4x20", **RUN
    )
    assert len(found.stages) == 20
    assert sum(stage.layers for stage in found.stages) == 80
    assert found.step_seconds >= found.bound_seconds
    assert found.percent_slower >= 0
    assert found.against == "4x20"
    modules = [name for part in found.torchtitan() for name in part]
    layers = [f"layers.{i}" for i in range(80)]
    assert modules == ["tok_embeddings", *layers, "norm", "lm_head"]
    assert found.megatron().startswith("E") and found.megatron().endswith("L")
    assert found.bridge(5)["virtual_pipeline_model_parallel_size"] == 5


@needs_tool
def test_a_model_may_be_the_keys_of_its_configuration():
    keys = {
        "model_type": "llama",
        "num_hidden_layers": 14,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    }
    found = ashlar_pp.layout(keys, 4, sharding="optimizer", recompute="full", **RUN)
    assert sum(stage.layers for stage in found.stages) == 14


@needs_tool
def test_a_refusal_says_why():
    with pytest.raises(ValueError, match="must end with L"):
        ashlar_pp.layout("llama3-70b", 4, against="Et*80|t", **RUN)


def test_without_the_tool_it_says_so():
    with pytest.raises(FileNotFoundError, match="not on the path"):
        ashlar_pp.layout("llama3-70b", 4, **{**RUN, "tool": "no-such-tool"})
