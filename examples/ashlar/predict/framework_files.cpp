#include "predict/framework_files.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "files/json_files.hpp"
#include "options/number_option.hpp"
#include <ashlar/predict/stage_layout.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

constexpr int largest_size = 1'000'000'000;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r").find(text.front()) != text.npos)
    text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r,").find(text.back()) != text.npos)
    text.remove_suffix(1);
  return text;
}

std::string_view unquoted(std::string_view text) {
  text = without_blanks(text);
  bool const is_quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    auto const end = text.find('\n');
    all.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return all;
}

// "num-layers" and "num_layers" are the same.
std::string with_underscores(std::string_view name) {
  while (!name.empty() && name.front() == '-') name.remove_prefix(1);
  std::string made(name);
  std::replace(made.begin(), made.end(), '-', '_');
  return made;
}

// As it is written.
std::string with_hyphens(std::string_view name) {
  std::string made = "--" + std::string(name);
  std::replace(made.begin(), made.end(), '_', '-');
  return made;
}

// Words as a shell has them: quotes hold them together, a backslash goes on in the next line, # is a
// remark.
std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0, around = 0;  // around: of a variable's value, whose words are words, too
  bool has_word = false;
  auto const end_word = [&] {
    if (has_word) words.push_back(word);
    word.clear();
    has_word = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      bool const is_variable = has_word && word.back() == '=' && word.front() != '-';
      if (c == around || is_variable) {
        around = is_variable ? c : char{};
        end_word();
      } else {
        quote = c;
        has_word = true;
      }
    } else if (c == '#' && !has_word) {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (std::string_view(" \t\r\n()\\").find(c) != std::string_view::npos) {
      end_word();
    } else {
      word += c;
      has_word = true;
    }
  }
  end_word();
  return words;
}

// The arguments of a run, each with its value; a flag has none.
class arguments {
 public:
  explicit arguments(std::string const& path) : path_(path) {
    std::string const text = read_text(path);
    if (is_yaml(text))
      read_yaml(text);
    else
      read_shell(text);
    if (all_.empty()) fail("has no arguments of Megatron-LM, as --num-layers 32");
  }

  bool has(char const* name) {
    asked_.insert(name);
    auto const at = all_.find(name);
    return at != all_.end() && at->second != "false" && at->second != "False" && at->second != "null"
           && at->second != "None";
  }
  std::string word(char const* name, std::string const& otherwise = "") {
    return has(name) ? all_.at(name) : otherwise;
  }
  long long number(char const* name, long long otherwise) {
    if (!has(name)) return otherwise;
    return number_within<long long>(fmt::format("'{}': {}", path_, with_hyphens(name)), all_.at(name), 0,
                                    largest_size);
  }
  long long number(char const* name) {
    if (!has(name)) fail(fmt::format("lacks {}", with_hyphens(name)));
    return number(name, 0);
  }
  void ignore(std::initializer_list<char const*> names) { asked_.insert(names.begin(), names.end()); }

  std::string not_asked() const {
    std::string list;
    for (auto const& [name, value] : all_)
      if (asked_.find(name) == asked_.end()) list += (list.empty() ? "" : " ") + with_hyphens(name);
    return list;
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw usage_error(fmt::format("'{}' {}", path_, what));
  }

 private:
  static bool is_yaml(std::string_view text) {
    for (std::string_view line : lines_of(text)) {
      line = without_blanks(line);
      auto const colon = line.find(':');
      if (colon == line.npos || line.front() == '#') continue;
      std::string_view const name = without_blanks(line.substr(0, colon));
      bool const is_name = !name.empty() && name.find_first_of(" =$/") == name.npos;
      if (is_name && (colon + 1 == line.size() || line[colon + 1] == ' ')) return true;
    }
    return false;
  }
  void read_yaml(std::string_view text) {
    for (std::string_view line : lines_of(text)) {
      if (auto const remark = line.find(" #"); remark != line.npos) line = line.substr(0, remark);
      line = without_blanks(line);
      auto const colon = line.find(':');
      if (colon == line.npos || line.front() == '#') continue;
      std::string_view const value = unquoted(line.substr(colon + 1));
      if (!value.empty()) all_[with_underscores(unquoted(line.substr(0, colon)))] = value;
    }
  }
  void read_shell(std::string_view text) {
    std::vector<std::string> const words = shell_words(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].size() < 3 || words[i].compare(0, 2, "--") != 0 || !begins_name(words[i][2]))
        continue;
      auto const equals = words[i].find('=');
      std::string const name = with_underscores(words[i].substr(0, equals));
      std::string& value = all_[name];
      value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
      if (equals == std::string::npos && i + 1 < words.size() && words[i + 1].compare(0, 2, "--") != 0)
        value = words[i + 1];
    }
  }

  std::string path_;
  std::map<std::string, std::string> all_;
  std::set<std::string> asked_;
};

// Arguments that make another model, and that no formula here has.
constexpr char const* other_models[] = {"heterogeneous_layers_config_path",
                                        "heterogeneous_layers_config_encoded_json",
                                        "encoder_num_layers",
                                        "experimental_attention_variant",
                                        "vision_pretraining",
                                        "retro_add_retriever"};

// The model, in general keys.
nlohmann::json megatron_model(arguments& a) {
  for (char const* each : other_models)
    if (a.has(each)) a.fail(fmt::format("has {}, which is not understood", with_hyphens(each)));
  bool const is_gated = a.has("swiglu");
  long long const hidden = a.number("hidden_size"), heads = a.number("num_attention_heads");
  long long const usual = is_gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
  nlohmann::json m{{"num_hidden_layers", a.number("num_layers")},
                   {"hidden_size", hidden},
                   {"num_attention_heads", heads},
                   {"intermediate_size", a.number("ffn_hidden_size", usual)},
                   {"hidden_act", is_gated                ? "silu"
                                  : a.has("squared_relu") ? "relu2"
                                                          : "gelu"},
                   {"tie_word_embeddings", !a.has("untie_embeddings_and_output_weights")}};
  long long const vocabulary = a.number("padded_vocab_size", a.number("vocab_size", 0));
  if (vocabulary == 0) a.fail("lacks --vocab-size: that of the tokenizer is not known here");
  m["vocab_size"] = vocabulary;
  if (a.has("group_query_attention")) m["num_key_value_heads"] = a.number("num_query_groups", 1);
  a.number("num_query_groups", 0);
  if (a.has("kv_channels")) m["head_dim"] = a.number("kv_channels");
  if (a.has("num_experts")) {
    m["num_experts"] = a.number("num_experts");
    m["num_experts_per_tok"] = a.number("moe_router_topk", 2);
    m["moe_intermediate_size"] =
        a.number("moe_ffn_hidden_size", m["intermediate_size"].get<long long>());
    if (a.has("moe_shared_expert_intermediate_size"))
      m["shared_expert_intermediate_size"] = a.number("moe_shared_expert_intermediate_size");
    if (std::string const often = a.word("moe_layer_freq", "1"); often != "1") {
      // ([0]*3+[1]*58): dense layers in front; a number: one in so many.
      long long count = 0;
      auto const star = often.find("[0]*");
      if (read_number(often, count) && count > 0) {
        m["moe_layer_step"] = count;
      } else if (star != std::string::npos && often.find("[1]*") > star) {
        auto const end = often.find_first_not_of("0123456789", star + 4);
        if (!read_number(std::string_view(often).substr(star + 4, end - star - 4), count))
          a.fail("has a --moe-layer-freq that is not understood: N, or ([0]*3+[1]*58)");
        m["first_k_dense_replace"] = count;
      } else {
        a.fail("has a --moe-layer-freq that is not understood: N, or ([0]*3+[1]*58)");
      }
    }
  }
  if (a.has("multi_latent_attention")) {
    m["kv_lora_rank"] = a.number("kv_lora_rank", 32);
    if (a.has("q_lora_rank")) m["q_lora_rank"] = a.number("q_lora_rank");
    m["qk_nope_head_dim"] = a.number("qk_head_dim", 128);
    m["qk_rope_head_dim"] = a.number("qk_pos_emb_head_dim", 64);
    m["v_head_dim"] = a.number("v_head_dim", 128);
  }
  if (a.has("mtp_num_layers")) m["num_nextn_predict_layers"] = a.number("mtp_num_layers");
  if (a.has("hybrid_override_pattern")) {
    m["hybrid_override_pattern"] = a.word("hybrid_override_pattern");
    m["mamba_head_dim"] = a.number("mamba_head_dim", 64);
    m["mamba_state_dim"] = a.number("mamba_state_dim", 128);
    m["mamba_n_groups"] = a.number("mamba_num_groups", 8);
    m["mamba_num_heads"] =
        a.number("mamba_num_heads", 2 * hidden / std::max(1LL, a.number("mamba_head_dim", 64)));
  }
  return m;
}

std::string megatron_precision(arguments& a) {
  if (a.has("fp4_format") || a.has("fp4")) return "nvfp4";
  std::string const recipe = a.word("fp8_recipe");
  if (a.has("fp8_format") || a.has("fp8")) return recipe == "mxfp8" ? "mxfp8" : "fp8";
  return a.has("fp16") ? "fp16" : a.has("bf16") ? "bf16" : "fp32";
}

std::string megatron_recomputation(arguments& a) {
  std::string const how = a.word("recompute_granularity");
  if (how == "full") return "full";
  std::string const modules = a.word("recompute_modules", "core_attn");
  bool const has_attention = modules.find("core_attn") != std::string::npos;
  return (how == "selective" || a.has("recompute_activations")) && has_attention ? "attention" : "none";
}

// Stages whose first or last is not as the others.
std::string megatron_layout(arguments& a, long long pipeline) {
  if (a.has("pipeline_model_parallel_layout")) return a.word("pipeline_model_parallel_layout");
  long long const first = a.number("decoder_first_pipeline_num_layers", 0),
                  last = a.number("decoder_last_pipeline_num_layers", 0);
  if ((first == 0 && last == 0) || pipeline < 2) return "";
  long long const ends = (first > 0 ? 1 : 0) + (last > 0 ? 1 : 0), middle = pipeline - ends;
  long long const left = a.number("num_layers") - first - last;
  if (middle < 1 || left < 0 || left % middle != 0)
    a.fail("has layers of the first or last stage that leave no equal share to the others");
  std::string layout;
  for (long long s = 0; s < pipeline; ++s)
    layout += fmt::format("{}{}", s == 0 ? "" : ",",
                          s == 0 && first > 0             ? first
                          : s == pipeline - 1 && last > 0 ? last
                                                          : left / middle);
  return layout;
}

}  // namespace

framework_run read_megatron(std::string const& path) {
  arguments a(path);
  framework_run run;
  run.model = described_keys(megatron_model(a), path);
  option_words& o = run.options;
  long long const tensor = a.number("tensor_model_parallel_size", 1),
                  pipeline = std::max(1LL, a.number("pipeline_model_parallel_size", 1));
  auto const set = [&](char const* option, long long value) { o[option] = fmt::format("{}", value); };
  set("sequence", a.number("seq_length"));
  set("batch", a.number("global_batch_size"));
  set("micro-batch", a.number("micro_batch_size", 1));
  set("tensor", tensor);
  set("pipeline", pipeline);
  set("context", a.number("context_parallel_size", 1));
  set("expert", a.number("expert_model_parallel_size", 1));
  if (a.has("num_experts")) set("expert-tensor", a.number("expert_tensor_parallel_size", tensor));
  long long chunks = a.number("num_virtual_stages_per_pipeline_rank", 1);
  if (long long const each = a.number("num_layers_per_virtual_pipeline_stage", 0); each > 0)
    chunks = std::max(1LL, a.number("num_layers") / pipeline / each);
  o["layout"] = megatron_layout(a, pipeline);
  if (a.has("pipeline_model_parallel_layout"))
    chunks = static_cast<long long>(ashlar::predict::read_layout(o["layout"]).size()) / pipeline;
  set("chunks", chunks);
  if (o["layout"].empty()) o.erase("layout");
  bool const is_sharded =
      a.has("use_megatron_fsdp") || a.has("use_torch_fsdp2") || a.has("use_custom_fsdp");
  std::string const strategy = a.word("data_parallel_sharding_strategy", "optim_grads_params");
  o["sharding"] = is_sharded                           ? strategy == "optim"         ? "optimizer"
                                                         : strategy == "optim_grads" ? "gradients"
                                                                                     : "full"
                  : a.has("use_distributed_optimizer") ? "optimizer"
                                                       : "none";
  o["recompute"] = megatron_recomputation(a);
  o["precision"] = megatron_precision(a);
  a.ignore({"fp8_recipe", "fp8_format", "fp8", "fp16", "bf16", "recompute_modules",
            "recompute_granularity", "use_distributed_optimizer", "expert_tensor_parallel_size",
            "sequence_parallel", "train_iters", "lr", "min_lr", "max_position_embeddings"});
  run.model->not_read = a.not_asked();
  return run;
}

framework_run read_torchtitan(std::string const& path, int devices) {
  std::string const text = read_text(path);
  std::map<std::string, std::string> values;
  std::string section;
  for (std::string_view line : lines_of(text)) {
    if (auto const remark = line.find('#'); remark != line.npos) line = line.substr(0, remark);
    line = without_blanks(line);
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
    } else if (auto const equals = line.find('='); equals != line.npos) {
      values[section + "." + std::string(without_blanks(line.substr(0, equals)))] =
          unquoted(line.substr(equals + 1));
    }
  }
  auto const word = [&](std::initializer_list<char const*> names, std::string otherwise) {
    for (char const* name : names)
      if (auto const at = values.find(name); at != values.end()) return at->second;
    return otherwise;
  };
  auto const number = [&](std::initializer_list<char const*> names, long long otherwise) {
    std::string const found = word(names, "");
    if (found.empty()) return otherwise;
    return number_within<long long>(fmt::format("'{}': {}", path, *names.begin()), found, -1,
                                    largest_size);
  };
  if (word({"training.seq_len"}, "").empty())
    throw usage_error(fmt::format("'{}' lacks seq_len in [training]: it is no job of torchtitan", path));
  framework_run run;
  option_words& o = run.options;
  long long const tensor = number({"parallelism.tensor_parallel_degree"}, 1),
                  pipeline = number({"parallelism.pipeline_parallel_degree"}, 1),
                  context = number({"parallelism.context_parallel_degree"}, 1);
  long long const below = std::max(1LL, tensor) * std::max(1LL, pipeline) * std::max(1LL, context);
  long long const local = number({"training.local_batch_size", "training.batch_size"}, 8);
  long long const data = std::max(1LL, devices / below),
                  all = number({"training.global_batch_size"}, -1);
  long long const micro = number({"parallelism.pipeline_parallel_microbatch_size"}, 1);
  o = {{"sequence", word({"training.seq_len"}, "")},
       {"batch", fmt::format("{}", all > 0 ? all : local * data)},
       {"micro-batch", fmt::format("{}", pipeline > 1 ? micro : local)},
       {"tensor", fmt::format("{}", tensor)},
       {"pipeline", fmt::format("{}", pipeline)},
       {"context", fmt::format("{}", context)},
       {"expert", fmt::format("{}", std::max(1LL, number({"parallelism.expert_parallel_degree"}, 1)))}};
  o["sharding"] = number({"parallelism.data_parallel_shard_degree"}, -1) == 1 ? "none" : "full";
  o["recompute"] = word({"activation_checkpoint.mode"}, "selective") == "full" ? "full" : "none";
  bool const is_low = word({"float8.enable_float8_linear"}, "false") == "true"
                      || word({"model.converters"}, "").find("float8") != std::string::npos;
  o["precision"] = is_low                                                           ? "fp8"
                   : word({"model.converters"}, "").find("mx") != std::string::npos ? "mxfp8"
                                                                                    : "bf16";
  std::string const name = word({"model.name"}, ""), flavor = word({"model.flavor"}, "");
  if (name == "llama3" && (flavor == "8B" || flavor == "70B" || flavor == "405B"))
    o["model"] = flavor == "8B" ? "llama3-8b" : flavor == "70B" ? "llama3-70b" : "llama3.1-405b";
  return run;
}

framework_run read_deepspeed(std::string const& path, int devices) {
  json_text const text = read_json_text(path);
  json_reader const read(text);
  nlohmann::json const& root = read.object(text.root, "configuration");
  framework_run run;
  option_words& o = run.options;
  auto const number = [&](char const* key) {
    auto const at = root.find(key);
    if (at == root.end() || at->is_null() || *at == "auto") return 0LL;
    return read.whole(*at, key, 1, largest_size);
  };
  auto const is_on = [&](char const* key) {
    auto const at = root.find(key);
    return at != root.end() && at->is_object() && at->value("enabled", false);
  };
  long long const micro = number("train_micro_batch_size_per_gpu"), all = number("train_batch_size"),
                  steps = std::max(1LL, number("gradient_accumulation_steps"));
  if (micro > 0) o["micro-batch"] = fmt::format("{}", micro);
  if (all > 0)
    o["batch"] = fmt::format("{}", all);
  else if (micro > 0)
    o["batch"] = fmt::format("{}", micro * steps * devices);
  long long stage = 0;
  if (auto const zero = root.find("zero_optimization"); zero != root.end()) {
    read.object(*zero, "zero_optimization");
    if (zero->contains("stage")) stage = read.whole(zero->at("stage"), "stage", 0, 3);
    for (char const* away : {"offload_optimizer", "offload_param"})
      if (auto const at = zero->find(away);
          at != zero->end() && at->is_object() && at->value("device", "none") != "none")
        read.fail(*at,
                  fmt::format("\"{}\": nothing here says what it takes to move values to a host", away));
  }
  constexpr char const* shares[] = {"none", "optimizer", "gradients", "full"};
  o["sharding"] = shares[stage];
  o["precision"] = is_on("bf16") ? "bf16" : is_on("fp16") ? "fp16" : "fp32";
  return run;
}

}  // namespace tool
