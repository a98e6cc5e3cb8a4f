// Stages and recomputation, in words that are read back.
#pragma once

#include "predict/report.hpp"
#include <ashlar/cost/layout/stage.hpp>

#include <string>
#include <vector>

namespace tool {

// Writes a stage, and all stages, as Megatron-LM does: Et*7, and Et*7|(t*8|)*14,t*7L.
std::string megatron_letters(ashlar::cost::stage const& s);
std::string megatron_letters(std::vector<ashlar::cost::stage> const& stages);

// The modules of a stage, as torchtitan names them: tok_embeddings, layers.0, norm, lm_head.
std::vector<std::string> torchtitan_modules(ashlar::cost::stage const& s);

// Says that losses or predictions are on several stages.
inline constexpr char const* spread_note =
    "losses or predictions of further tokens are on several stages: no release of Megatron-Core up to "
    "0.16.1 runs that";

// The kind of a pipeline rank's devices; "A100+H100" if its data ranks are of both.
std::string kind_of_rank(ashlar::cost::question const& q, int rank);

// Layers of each stage: "7 8x14 7".
std::string layer_counts(std::vector<ashlar::cost::stage> const& stages);

// Whether all stages have as many layers.
bool deals_evenly(std::vector<ashlar::cost::stage> const& stages);

// The name of its order of passes; "none" without a pipeline. For a question alone, that with a closed
// form.
std::string schedule_word(ashlar::cost::question const& q);
std::string schedule_word(prediction const& p);

// The argument of --recompute: "layernorm,moe_act:3"; empty where single layers are named.
std::string recompute_word(ashlar::cost::question const& q);

// The argument of --offload-activations, "core_attn" or "full:3"; and its parts alone.
std::string offload_word(ashlar::cost::question const& q);
std::string offload_parts(ashlar::cost::question const& q, char const* between);

// Names the stages that the question divides layers into, as --layout would.
void settle_stages(prediction& p);

}  // namespace tool
