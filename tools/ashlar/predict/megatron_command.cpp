#include "predict/megatron_command.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/number_option.hpp"
#include "predict/megatron_arguments.hpp"
#include "predict/megatron_encoder.hpp"
#include "predict/megatron_flags.hpp"
#include "predict/megatron_names.hpp"
#include "predict/megatron_words.hpp"
#include "predict/text_lines.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace tool {

namespace {

bool is_yaml(std::string const& path, std::string_view text) {
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return true;
  if (path.ends_with(".sh")) return false;
  for (std::string_view line : lines_of(text)) {  // the first that says something
    line = trimmed(line);
    if (line.empty() || (line.front() == '#' && !line.starts_with("#!"))) continue;
    auto const colon = line.find(':');
    if (colon == line.npos) return line == "---";
    std::string_view const name = trimmed(line.substr(0, colon));
    bool const is_name = !name.empty() && name.find_first_of(" =$/'\"(){}") == name.npos;
    return is_name && (colon + 1 == line.size() || line[colon + 1] == ' ');
  }
  return false;
}

bool is_off(std::string_view value) {
  constexpr std::array off{"false", "False", "none", "None", "null", "0", "0.0"};
  return std::find(off.begin(), off.end(), value) != off.end();
}

}  // namespace

std::string with_hyphens(std::string_view name) {
  std::string made = "--" + std::string(name);
  std::replace(made.begin(), made.end(), '_', '-');
  return made;
}

megatron_command::megatron_command(std::string const& path) : path_(path) {
  text_ = read_text(path);
  if (is_yaml(path, text_))
    read_yaml(text_);
  else
    read_shell(text_);
  finish();
}

megatron_command::megatron_command(json_text const& source, nlohmann::json const& values)
    : path_(source.path) {
  for (auto const& [name, value] : values.items()) {
    if (name == "program") {
      program_ = json_reader(source).text(value, "program");
      continue;
    }
    std::string& said = all_[with_underscores(name)];
    said = value.is_string() ? value.get<std::string>() : value == true ? "" : value.dump();
  }
  finish();
}

void megatron_command::finish() {
  name_as_arguments();
  if (all_.empty()) fail("has no arguments of Megatron-LM, as --num-layers 32");
  refuse_others();
}

bool megatron_command::has(char const* name) {
  asked_.insert(name);
  if (twice_.count(name) > 0) fail(fmt::format("says {} twice", name));
  auto const at = all_.find(name);
  return at != all_.end() && at->second != "false" && at->second != "False" && at->second != "null"
         && at->second != "None";
}

bool megatron_command::says(char const* name) {
  asked_.insert(name);
  return all_.count(name) > 0;
}

void megatron_command::set(char const* name, std::string value) {
  twice_.erase(name);
  all_[name] = std::move(value);
}

std::string megatron_command::word(char const* name, std::string const& otherwise) {
  if (!has(name)) return otherwise;
  valued_.insert(name);
  std::string const& value = all_.at(name);
  if (std::string const why = script_ ? script_->why_unknown(value) : ""; !why.empty())
    throw usage_error(fmt::format("'{}', {}, so the value of {} is not known; write it into the file{}",
                                  path_, why, with_hyphens(name), how_to_evaluate));
  return value;
}

long long megatron_command::number(char const* name, long long otherwise) {
  if (!has(name)) return otherwise;
  return number_within<long long>(fmt::format("'{}': {}", path_, with_hyphens(name)), word(name), 0,
                                  largest_framework_size);
}

long long megatron_command::number(char const* name) {
  if (!has(name)) fail(fmt::format("lacks {}", with_hyphens(name)));
  return number(name, 0);
}

std::string megatron_command::not_read() const {
  std::string list;
  for (auto const& [name, value] : all_)
    if (asked_.find(name) == asked_.end() && says_nothing_to_predict(name))
      list += (list.empty() ? "" : " ") + with_hyphens(name);
  return list;
}

// Whether all words that a branch may put in its place change nothing here.
bool megatron_command::says_nothing(std::string const& word) const {
  std::vector<std::string> const* const branch = script_->branch_words(word);
  if (branch == nullptr) return false;
  std::vector<std::string> const words = parted(*branch);
  return !words.empty() && is_argument(words.front())
         && std::all_of(words.begin(), words.end(), [](std::string const& each) {
              return !is_argument(each)
                     || says_nothing_to_predict(with_underscores(each.substr(0, each.find('='))));
            });
}

// A word that is no value of an argument, and may stand for others.
void megatron_command::note_open(std::string const& word) {
  std::string const why = script_ ? script_->why_unknown(word) : "";
  if (why.empty() || says_nothing(word)) return;
  if (!script_->may_be_nothing(word))
    throw usage_error(fmt::format("'{}', {}, so arguments are not known; write them into the file{}",
                                  path_, why, how_to_evaluate));
  open_.push_back(script_->shown(word));
}

std::string megatron_command::not_known() {
  for (auto const& [name, value] : all_) {  // behind a flag stands no value
    bool const is_read = asked_.find(name) != asked_.end();
    if (is_read && valued_.find(name) == valued_.end()) note_open(value);
  }
  std::string list;
  auto const add = [&](std::string const& word) { list += (list.empty() ? "" : " ") + word; };
  for (auto const& [name, value] : all_) {
    megatron_flag const* const flag = find_megatron_flag(name);
    bool const is_read = asked_.find(name) != asked_.end();
    if (!is_read && !says_nothing_to_predict(name)) add(with_hyphens(name));
    if (is_read && has(name.c_str()) && !has_fields_ && flag != nullptr && !flag->takes(value))
      add(with_hyphens(name) + " " + value);
  }
  for (std::string const& word : open_) add(word);
  return list;
}

void megatron_command::fail(std::string const& what) const {
  throw usage_error(fmt::format("'{}' {}", path_, what));
}

void megatron_command::refuse_others() const {
  if (std::string const why = why_other_program(program_); !why.empty())
    fail(fmt::format("runs {}: {}", program_, why));
  for (auto const& [name, value] : all_) {
    if (value == "false" || value == "False" || value == "null" || value == "None") continue;
    if (trains_encoder_decoder(program_) && is_of_both(name)) continue;
    if (std::string const why = why_not_predicted(name); !why.empty())
      fail(fmt::format("has {}{}: {}, and is not predicted", with_hyphens(name), place_of(name), why));
  }
}

std::string megatron_command::place_of(std::string const& name) const {
  int const line = line_of_argument(text_, name);
  return line > 0 ? fmt::format(" in line {}", line) : "";
}

void megatron_command::refuse_unknown_layers() {
  if (std::string const spec = word("spec"); is_foreign_spec(spec))
    fail(fmt::format("has --spec {}{}: a function makes the layers; say --model", spec.substr(0, 160),
                     place_of("spec")));
  for (auto const& [name, value] : all_)
    if (unknown_.count(name) > 0 && asked_.count(name) == 0 && tells_of_model(name) && !is_off(value))
      fail(
          fmt::format("has {}{}, which is not known, and tells of a model: say --model; arguments of "
                      "Megatron-LM's forks are read by `python -m ashlar_pp.read launch -- bash FILE`",
                      with_hyphens(name), place_of(name)));
}

void megatron_command::read_yaml(std::string_view text) {
  std::string list;  // whose entries are lines
  for (std::string_view line : lines_of(text)) {
    if (auto const remark = line.find(" #"); remark != line.npos) line = line.substr(0, remark);
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    auto const colon = line.find(':');
    if (colon == line.npos) {
      if (line.starts_with("- ") && !list.empty()) {
        std::string& entries = all_[list];
        entries += (entries.empty() ? "" : " ") + std::string(unquoted(line.substr(2)));
      }
      continue;
    }
    std::string const value(unquoted(line.substr(colon + 1)));
    std::string const name = with_underscores(unquoted(line.substr(0, colon)));
    list = value.empty() ? name : "";
    if (value.empty()) continue;
    auto const [at, is_new] = all_.emplace(name, value);
    if (!is_new && at->second != value) twice_.insert(name);
  }
}

void megatron_command::name_as_arguments() {
  constexpr std::array same{
      std::pair{"num_moe_experts", "num_experts"}, std::pair{"gated_linear_unit", "swiglu"},
      std::pair{"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
      std::pair{"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
      std::pair{"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"}};
  constexpr std::array opposite{
      std::pair{"share_embeddings_and_output_weights", "untie_embeddings_and_output_weights"},
      std::pair{"add_bias_linear", "disable_bias_linear"},
      std::pair{"grad_reduce_in_fp32", "grad_reduce_in_bf16"},
      std::pair{"apply_rope_fusion", "no_rope_fusion"},
      std::pair{"bias_activation_fusion", "no_bias_swiglu_fusion"},
      std::pair{"bias_swiglu_fusion", "no_bias_swiglu_fusion"},
      std::pair{"bias_gelu_fusion", "no_bias_gelu_fusion"}};
  for (auto const& [field, argument] : same)
    if (auto const at = all_.find(field); at != all_.end()) {
      all_[argument] = at->second;
      all_.erase(field);
      has_fields_ = true;
    }
  for (auto const& [field, argument] : opposite)
    if (auto const at = all_.find(field); at != all_.end()) {
      if (at->second == "false" || at->second == "False") all_[argument] = "";
      all_.erase(field);
      has_fields_ = true;
    }
  if (has_fields_ && all_.count("num_query_groups") > 0) all_["group_query_attention"] = "";
}

void megatron_command::read_shell(std::string_view text) {
  script_.emplace(path_, text);
  for (std::vector<std::string> const& words : training_words(*script_, path_)) read_arguments(words);
}

// Whether a word is no argument, and stands for none.
bool megatron_command::is_value(std::string const& word) const {
  if (is_argument(word)) return false;
  std::vector<std::string> const* const branch = script_->branch_words(word);
  return branch == nullptr || std::none_of(branch->begin(), branch->end(), [](std::string const& each) {
           return each.find("--") != std::string::npos;
         });
}

void megatron_command::read_arguments(std::vector<std::string> const& words) {
  std::map<std::string, std::string> const before = all_;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string const& word = words[i];
    if (!is_argument(word)) {
      bool const is_open = script_ && !script_->why_unknown(word).empty();
      if (is_open)
        note_open(word);
      else if (i > 0 && !program_.empty())
        open_.push_back(word);
      if (i == 0 && word.ends_with(".py"))
        program_ = word.substr(word.rfind('/') == word.npos ? 0 : word.rfind('/') + 1);
      continue;
    }
    auto const equals = word.find('=');
    std::string const written = with_underscores(word.substr(0, equals));
    megatron_flag const* const flag = find_megatron_flag(written);
    std::string const& name = flag != nullptr ? flag->name : written;
    if (flag == nullptr) unknown_.insert(name);
    std::string& value = all_[name];
    value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (equals != std::string::npos) continue;
    std::size_t const most = flag != nullptr ? flag->most : words.size();
    for (std::size_t taken = 0; taken < most && i + 1 < words.size() && is_value(words[i + 1]);
         ++taken) {
      if (most > 1 && taken > 0 && !script_->why_unknown(words[i + 1]).empty()) break;
      value += (taken > 0 ? " " : "") + words[++i];
    }
  }
  // The last one of a command counts; which of several commands runs is not known.
  for (auto const& [name, value] : before)
    if (all_.at(name) != value) twice_.insert(name);
}

}  // namespace tool
