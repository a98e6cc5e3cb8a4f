#include "plan/plan_files.hpp"

#include "command.hpp"
#include "files/costs_file.hpp"
#include "files/json_object.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

namespace tool {

namespace {

struct model_preset {
  char const* name;
  char const* source;
  ashlar::transformer model;
};

// The published shapes.
constexpr std::array model_presets{
    model_preset{"8B",
                 "Llama 3 8B",
                 {.layers = 32,
                  .hidden = 4096,
                  .feed_forward = 14336,
                  .heads = 32,
                  .key_value_heads = 8,
                  .vocabulary = 128256,
                  .sequence = 8192,
                  .gated = true}},
    model_preset{"70B",
                 "Llama 3 70B",
                 {.layers = 80,
                  .hidden = 8192,
                  .feed_forward = 28672,
                  .heads = 64,
                  .key_value_heads = 8,
                  .vocabulary = 128256,
                  .sequence = 8192,
                  .gated = true}},
    model_preset{"175B",
                 "GPT-3",
                 {.layers = 96,
                  .hidden = 12288,
                  .feed_forward = 49152,
                  .heads = 96,
                  .vocabulary = 51200,
                  .sequence = 2048,
                  .tied = true}},
};

constexpr int most_layers = 1000;

// Bytes of a value. Training in fp8 keeps its weights and most activations in 16 bits, in shares that no
// formula here has.
double bytes_of_precision(json_object& file, std::string const& precision) {
  if (precision == "bf16" || precision == "fp16") return 2;
  if (precision == "fp32") return 4;
  file.fail(fmt::format("must give bf16, fp16 or fp32 for \"precision\", not \"{}\"",
                        precision.substr(0, 64)));
}

// Values have 16 bits; flash attention keeps no scores, fused kernels nothing between a norm and its
// scale.
constexpr ashlar::kept_widths widths_of(bool gated) {
  return {.whole = 8, .split = 8, .feed_forward = gated ? 8.0 : 4.0, .scores = 0};
}

ashlar::transformer own_model(json_object& file, std::string& precision) {
  ashlar::transformer t{.layers = static_cast<int>(file.number("layers", 1, most_layers)),
                        .hidden = file.real("hidden", 1),
                        .heads = file.real("heads", 1),
                        .vocabulary = file.real("vocabulary", 1),
                        .sequence = file.real("sequence", 1),
                        .gated = file.flag("gated", false),
                        .tied = file.flag("tied", false)};
  t.feed_forward = file.real("feed_forward", 1, 4 * t.hidden);
  t.key_value_heads = file.real("key_value_heads", 1, t.heads);
  t.experts = file.real("experts", 1, 0);
  t.experts_per_token = file.real("experts_per_token", 1, 1);
  precision = file.word("precision", precision);
  t.value_bytes = bytes_of_precision(file, precision);
  file.must_be_all();
  return t;
}

// Takes times of the layers of a model, each of which was a stage when they were measured.
void take_times(named_model& m, std::string const& path) {
  if (m.lists.size() > 1)
    throw usage_error("--costs are those of one number of tensor ranks, and the model lists several");
  std::vector<ashlar::listed_layer>& layers = m.lists[0].layers;
  costs_file const file = read_costs(path);
  if (int const stages = file.cost.passes.stages();
      stages != 0 && static_cast<std::size_t>(stages) != layers.size())
    throw usage_error(fmt::format(
        "'{}' has costs of {} stages, and the model {} layers: measure each layer as a stage", path,
        stages, layers.size()));
  auto const seconds = [&](ashlar::tick time) {
    return static_cast<double>(time) * file.scale.tick_ns() / 1e9;
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    ashlar::stage_cost const& c = file.cost.passes.of(static_cast<int>(i));
    layers[i].passes = {seconds(c.forward), seconds(c.of(ashlar::pass_kind::backward))};
  }
}

// Reads lists of layers, each for this many tensor ranks. Times may be missing where `costs` has them.
named_model measured_model(std::string const& path, json_object& file, std::string const& costs) {
  std::optional<double> const missing = costs.empty() ? std::nullopt : std::optional<double>(0);
  named_model made{.name = path, .source = "measured layers", .model = {}, .widths = {}};
  made.model.sequence = file.real("sequence", 1);
  std::vector<json_object> lists = file.objects("measured");
  file.must_be_all();
  for (json_object& each : lists) {
    ashlar::listed_model list{.tensor = static_cast<int>(each.number("tensor", 1, 1024, 1)),
                              .layers = {}};
    for (json_object& layer : each.objects("layers")) {
      ashlar::listed_layer const l{.passes = {layer.real("forward_ms", 0, missing) / 1e3,
                                              layer.real("backward_ms", 0, missing) / 1e3},
                                   .parameters = layer.real("parameters", 0),
                                   .kept = layer.real("kept_bytes", 0),
                                   .output = layer.real("output_bytes", 0)};
      auto const count = static_cast<std::size_t>(layer.number("count", 1, most_layers, 1));
      layer.must_be_all();
      list.layers.insert(list.layers.end(), count, l);
    }
    each.must_be_all();
    if (list.layers.size() > most_layers) each.fail("has too many layers");
    for (ashlar::listed_model const& other : made.lists)
      if (other.tensor == list.tensor || other.layers.size() != list.layers.size())
        each.fail("must have a number of tensor ranks of its own, and as many layers as the others");
    made.lists.push_back(std::move(list));
  }
  made.model.layers = static_cast<int>(made.lists[0].layers.size());
  if (!costs.empty()) take_times(made, costs);
  return made;
}

// Reads the keys of Llama and its like, or of GPT-2.
ashlar::transformer hugging_face_model(json_object& file) {
  for (char const* unknown : {"kv_lora_rank", "n_shared_experts", "shared_expert_intermediate_size"})
    if (file.has(unknown))
      file.fail(fmt::format("has \"{}\": neither compressed attention nor shared experts are planned",
                            unknown));
  bool const is_gpt2 = file.has("n_layer");
  auto const key = [&](char const* usual, char const* gpt2) { return is_gpt2 ? gpt2 : usual; };
  ashlar::transformer t{
      .layers = static_cast<int>(file.number(key("num_hidden_layers", "n_layer"), 1, most_layers)),
      .hidden = file.real(key("hidden_size", "n_embd"), 1),
      .heads = file.real(key("num_attention_heads", "n_head"), 1),
      .vocabulary = file.real("vocab_size", 1),
      .sequence = file.real(key("max_position_embeddings", "n_positions"), 1)};
  t.feed_forward = is_gpt2 ? 4 * t.hidden : file.real("intermediate_size", 1);
  t.key_value_heads = is_gpt2 ? t.heads : file.real("num_key_value_heads", 1, t.heads);
  t.gated = !is_gpt2 && file.word("hidden_act", "silu") == "silu";
  t.tied = file.flag("tie_word_embeddings", is_gpt2);
  for (char const* experts : {"num_local_experts", "num_experts"})
    if (file.has(experts)) {
      t.experts = file.real(experts, 1);
      t.experts_per_token = file.real("num_experts_per_tok", 1);
      t.feed_forward = file.real("moe_intermediate_size", 1, t.feed_forward);
    }
  return t;
}

}  // namespace

named_model read_model(std::string const& name_or_file, int sequence, std::string const& costs) {
  named_model made;
  for (model_preset const& p : model_presets)
    if (name_or_file == p.name)
      made = {.name = p.name, .source = p.source, .model = p.model, .widths = {}};
  if (made.name.empty()) {
    json_object file(name_or_file);
    if (file.has("measured")) {
      made = measured_model(name_or_file, file, costs);
      if (sequence > 0) file.fail("has times of its own sequences: --sequence does not go with it");
      return made;
    }
    bool const is_own = file.has("layers");
    made = {.name = name_or_file,
            .source = is_own ? "its file" : "a Hugging Face config",
            .model = {},
            .widths = {}};
    made.model = is_own ? own_model(file, made.precision) : hugging_face_model(file);
    ashlar::transformer const& t = made.model;
    if (t.heads > 100'000 || t.heads != std::floor(t.heads) || t.hidden != std::floor(t.hidden))
      file.fail("must give whole numbers for heads and hidden size");
    if (t.experts > 0 && t.experts_per_token > t.experts)
      file.fail("has more experts for a token than there are");
  }
  if (!costs.empty())
    throw usage_error("--costs are times of listed layers, and the model is one of formulas");
  if (sequence > 0) made.model.sequence = sequence;
  made.widths = widths_of(made.model.gated).of_values(made.model.value_bytes);
  return made;
}

}  // namespace tool
