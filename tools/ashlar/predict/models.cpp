#include "predict/models.hpp"

#include "command.hpp"
#include "files/json_files.hpp"
#include "files/json_object.hpp"
#include "predict/decoder.hpp"
#include "predict/embedded.hpp"
#include "predict/frozen_choice.hpp"
#include "predict/measured_layers.hpp"
#include "predict/model_file.hpp"
#include "predict/names.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;

constexpr double most_described_layers = 100'000;

bool is_gated_activation(std::string const& name) {
  return name == "silu" || name == "swiglu" || name == "geglu" || name == "swish" || name == "reglu";
}

ashlar::cost::mixer general_mixer(model_config const& c, double hidden, double heads) {
  ashlar::cost::mixer m{.kind = mixer_kind::attention, .heads = heads};
  m.groups = c.size_or({"num_key_value_heads"}, heads);
  m.head = c.size_or({"head_dim"}, static_cast<double>(static_cast<long long>(hidden / heads)));
  m.q_rank = c.size_or({"q_lora_rank"}, 0);
  m.kv_rank = c.size_or({"kv_lora_rank"}, 0);
  m.nope = c.size_or({"qk_nope_head_dim"}, 0);
  m.rope = c.size_or({"qk_rope_head_dim"}, 0);
  m.value_head = c.size_or({"v_head_dim"}, 0);
  if (m.kv_rank > 0) m.kind = mixer_kind::compressed;
  return m;
}

ashlar::cost::mixer general_state_space(model_config const& c) {
  double const heads = c.size({"mamba_num_heads"});
  return {.kind = mixer_kind::state_space,
          .inner = heads * c.size({"mamba_head_dim"}),
          .keys = c.size({"mamba_n_groups"}) * c.size({"mamba_state_dim"}),
          .steps = heads};
}

// Reads a file without model_type: the keys of Llama, of experts and of hybrids that most files share.
// Norms and biases are not counted, because nothing says which there are.
architecture general_model(model_config const& c) {
  architecture a;
  a.hidden = c.size({"hidden_size"});
  a.vocabulary = c.size({"vocab_size"});
  a.is_tied = c.flag({"tie_word_embeddings"}, false);
  double const layers = c.size({"num_hidden_layers"});
  if (layers > most_described_layers) c.fail("has too many layers");
  ashlar::cost::mixer const attention = general_mixer(c, a.hidden, c.size({"num_attention_heads"}));

  ashlar::cost::feed_forward dense{.kind = feed_forward_kind::dense};
  dense.is_gated = is_gated_activation(c.word({"hidden_act"}, "silu"));
  dense.width = c.size({"intermediate_size"});
  ashlar::cost::feed_forward routed = dense;
  routed.kind = feed_forward_kind::experts;
  routed.experts = c.size_or({"num_experts", "num_local_experts", "n_routed_experts"}, 0);
  bool const has_experts = routed.experts > 0;
  if (has_experts) routed.chosen = c.size({"num_experts_per_tok"});
  routed.expert_width = c.size_or({"moe_intermediate_size"}, dense.width);
  routed.shared_width = c.size_or({"shared_expert_intermediate_size"},
                                  c.size_or({"n_shared_experts"}, 0) * routed.expert_width);
  routed.latent = c.size_or({"moe_latent_size"}, 0);
  limit_to_groups(c, routed);

  double const window = c.size_or({"sliding_window"}, 0);
  double const every = c.size_or({"sliding_pattern", "sliding_window_pattern"}, 0);
  // The published architecture with experts and alternating windows has clamped gates with biases.
  dense.is_clamped = routed.is_clamped = c.has({"swiglu_limit"}) || (has_experts && every > 0);
  routed.width = 0;

  auto const first = static_cast<int>(c.size_or({"first_k_dense_replace"}, 0));
  auto const step = static_cast<int>(c.size_or({"moe_layer_step", "decoder_sparse_step"}, 1));
  std::vector<long long> const dense_layers = c.numbers({"mlp_only_layers"});
  std::string const pattern = c.word({"hybrid_override_pattern"}, "");
  for (char kind : pattern) {
    layer l;
    if (kind == 'M') l.mix = general_state_space(c);
    if (kind == '*') l.mix = attention;
    if (kind == '-') l.feed = dense;
    if (kind == 'E') l.feed = routed;
    if (std::string_view("M*-E").find(kind) == std::string_view::npos || (kind == 'E' && !has_experts))
      c.fail("\"hybrid_override_pattern\" has letters M, *, - and, with experts, E");
    a.add(l);
  }
  for (int i = 0; pattern.empty() && i < static_cast<int>(layers); ++i) {
    bool is_routed = has_experts && i >= first && (i + 1) % step == 0;
    for (long long each : dense_layers) is_routed = is_routed && each != i;
    layer l{.mix = attention, .feed = is_routed ? routed : dense};
    bool const sees_all = every > 0 && (i + 1) % static_cast<int>(every) == 0;
    if (window > 0 && !sees_all) l.mix.window = window;
    a.add(l);
  }
  a.predictor = {.mix = attention, .feed = has_experts ? routed : dense};
  a.predictions = static_cast<int>(c.size_or({"num_nextn_predict_layers"}, 0));
  a.repeats = c.flag({"mtp_repeated"}, false);
  c.size_or({"attention_chunk_size"}, 0);
  for (char const* each : {"mamba_num_heads", "mamba_head_dim", "mamba_n_groups", "mamba_state_dim"})
    c.has({each});
  return a;
}

nlohmann::json const& defaults_of_types() {
  static nlohmann::json const all = nlohmann::json::parse(embedded_defaults());
  return all;
}

// The keys that transformers reads for each type.
nlohmann::json const& keys_of_types() {
  static nlohmann::json const all = nlohmann::json::parse(embedded_keys_of_types());
  return all;
}

// Types whose code comes with their weights: their keys, and where that code was read.
nlohmann::json const& types_of_own_code() {
  static nlohmann::json const all = nlohmann::json::parse(embedded_types_of_own_code());
  return all;
}

nlohmann::json const* find_type(nlohmann::json const& types, std::string const& type) {
  auto const at = types.find(type);
  return at == types.end() ? nullptr : &*at;
}

std::string ignored_words(std::vector<std::string> const& keys) {
  return fmt::format("not read: {}; transformers {} does not read {} for this type either",
                     fmt::join(keys, ", "), keys_of_types()["transformers"].get<std::string>(),
                     keys.size() == 1 ? "it" : "them");
}

// The decoder of a file, also if it is inside a larger model.
nlohmann::json const& decoder_of(nlohmann::json const& root, std::string& left_out) {
  for (char const* key : {"text_config", "llm_config", "language_config"}) {
    auto const at = root.find(key);
    if (at == root.end() || !at->is_object() || root.contains("hidden_size")) continue;
    for (auto const& [other, value] : root.items())
      if (value.is_object() && other != key && other.find("_config") != std::string::npos)
        left_out += (left_out.empty() ? "" : ", ") + other;
    return *at;
  }
  return root;
}

std::string type_of(json_reader const& read, nlohmann::json const& decoder, nlohmann::json const& root) {
  auto const word = [&](nlohmann::json const& object) {
    auto const at = object.find("model_type");
    return at != object.end() && !at->is_null() ? read.text(*at, "model_type") : std::string();
  };
  std::string type = word(decoder);
  std::string const whole = word(root);
  if (type.empty() && &decoder != &root && !whole.empty()) type = whole + "_text";
  constexpr std::array same{
      std::array{"gemma3", "gemma3_text"},       std::array{"llama4", "llama4_text"},
      std::array{"hunyuan", "hunyuan_v1_dense"}, std::array{"kimi_k2", "deepseek_v3"},
      std::array{"RefinedWebModel", "falcon"},   std::array{"RefinedWeb", "falcon"}};
  for (auto const& [other, known] : same)
    if (type == other) return known;
  return type;
}

void read_frozen(model_config const& config, ashlar::cost::architecture& model) {
  std::string const parts = config.word({"freeze"}, "");
  if (parts.empty()) return;
  try {
    freeze(parts, model);
  } catch (usage_error const& e) {
    config.fail(fmt::format("\"freeze\": {}", e.what()));
  }
}

// Requires that each key head is shared by as many query heads.
void check_heads(model_config const& config, architecture const& model) {
  for (layer const& l : model.kinds)
    if (auto const& m = l.mix; m.kind == mixer_kind::attention && std::fmod(m.heads, m.groups) > 0)
      config.fail(fmt::format("has {} heads of attention, which are no multiple of its {} key heads",
                              m.heads, m.groups));
}

described_model described(json_text const& text, std::string const& name) {
  if (!text.root().is_object()) json_reader(text).fail(text.root(), "is not a JSON object");
  described_model made{.name = name, .type = {}, .left_out = {}, .notes = {}, .shape = {}};
  if (is_model_file(text.root())) {
    made = model_in(text, text.root());
    made.name = name;
    return made;
  }
  nlohmann::json const& decoder = decoder_of(text.root(), made.left_out);
  made.type = type_of(json_reader(text), decoder, text.root());
  if (made.type.empty()) {
    model_config const config(text, decoder, nullptr);
    made.shape = general_model(config);
    check_heads(config, made.shape);
    read_frozen(config, made.shape);
    config.must_be_understood("without a model_type");
    return made;
  }
  nlohmann::json const& of_own_code = types_of_own_code();
  nlohmann::json const* const own = find_type(of_own_code["types"], made.type);
  model_config const config =
      own != nullptr ? model_config(text, decoder, *own, of_own_code["quiet"])
                     : model_config(text, decoder, find_type(defaults_of_types(), made.type),
                                    find_type(keys_of_types()["types"], made.type));
  if (!read_decoder(made.type, config, made.shape)) {
    std::string all;
    for (std::string const& each : known_model_types()) all += " " + each;
    config.fail(
        fmt::format("model_type '{}' is not known{}; there are:{}; transformers may know it: "
                    "`python -m ashlar_pp.read model {} -o FILE` writes a file for --model",
                    made.type.substr(0, 64), did_you_mean(made.type, known_model_types()), all, name));
  }
  check_heads(config, made.shape);
  read_frozen(config, made.shape);
  if (std::vector<std::string> const ignored = config.must_be_understood(made.type); !ignored.empty())
    made.notes.push_back(ignored_words(ignored));
  if (own != nullptr)
    made.notes.push_back(fmt::format("'{}' is no type of transformers {}: its parts are those of {}",
                                     made.type, keys_of_types()["transformers"].get<std::string>(),
                                     (*own)["source"].get<std::string>()));
  if (static_cast<double>(made.shape.layers.size()) > most_described_layers)
    config.fail("has too many layers");
  return made;
}

// A model of few keys (docs/formats.md), as general ones.
described_model own_keys(json_text const& text, std::string const& name) {
  json_object file(text);
  auto const whole = [&](char const* key, long long otherwise = -1) {
    return file.number(key, 1, 1'000'000'000, otherwise);
  };
  long long const hidden = whole("hidden"), heads = whole("heads");
  nlohmann::json keys{{"num_hidden_layers", file.number("layers", 1, 1000)},
                      {"hidden_size", hidden},
                      {"num_attention_heads", heads},
                      {"vocab_size", whole("vocabulary")},
                      {"hidden_act", file.flag("gated", false) ? "silu" : "gelu"},
                      {"tie_word_embeddings", file.flag("tied", false)},
                      {"intermediate_size", whole("feed_forward", 4 * hidden)},
                      {"num_key_value_heads", whole("key_value_heads", heads)}};
  whole("sequence");
  long long const experts = file.number("experts", 0, 1'000'000, 0),
                  chosen = whole("experts_per_token", 1);
  if (experts > 0) keys["num_experts"] = experts;
  if (experts > 0) keys["num_experts_per_tok"] = chosen;
  std::string const precision = file.word("precision", "bf16");
  if (precision != "bf16" && precision != "fp16" && precision != "fp32")
    file.fail(fmt::format("must give bf16, fp16 or fp32 for \"precision\", not \"{}\"",
                          precision.substr(0, 64)));
  file.must_be_all();
  described_model made = described_keys(keys, name);
  made.precision = precision;
  return made;
}

// A model whose layers were measured.
described_model measured(json_text const& text, std::string const& name) {
  json_object file(text);
  file.real("sequence", 1);
  described_model made{
      .name = name, .type = {}, .left_out = {}, .notes = {}, .shape = measured_model(file)};
  file.must_be_all();
  return made;
}

}  // namespace

described_model described_keys(nlohmann::json keys, std::string const& name) {
  json_text const text{.path = name,
                       .text = keys.dump(1),
                       .tree = std::make_shared<nlohmann::json const>(std::move(keys))};
  return described(text, name);
}

described_model read_described_model(std::string const& name_or_file) {
  std::vector<std::string> names;
  std::string list;
  // `plan` has these names.
  std::string const name = name_or_file == "8B"     ? "llama3-8b"
                           : name_or_file == "70B"  ? "llama3-70b"
                           : name_or_file == "175B" ? "gpt3-175b"
                                                    : in_small_letters(name_or_file);
  for (embedded_file const& each : embedded_models()) {
    if (name == each.name) return described(json_text_of(each.text, each.name), each.name);
    names.emplace_back(each.name);
    list += fmt::format(" {}", each.name);
  }
  if (!is_path(name_or_file))
    throw usage_error(
        fmt::format("--model: no model '{}' is known{}; there are:{}; or give the path of a "
                    "config.json",
                    name_or_file.substr(0, 64), did_you_mean(name_or_file, names), list));
  json_text const text = read_python_json(name_or_file);
  if (text.root().is_object() && text.root().contains("measured")) return measured(text, name_or_file);
  if (text.root().is_object() && text.root().contains("layers") && !is_model_file(text.root())
      && !text.root().contains("num_hidden_layers") && !text.root().contains("model_type"))
    return own_keys(text, name_or_file);
  return described(text, name_or_file);
}

}  // namespace tool
