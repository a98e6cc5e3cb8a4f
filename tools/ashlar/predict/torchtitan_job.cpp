#include "predict/torchtitan_job.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/number_option.hpp"
#include "predict/framework_files.hpp"
#include "predict/text_lines.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tool {

namespace {

// These keys change nothing, although their sections say what is computed.
constexpr std::array silent_names{"training.dataset",
                                  "training.data",
                                  "training.steps",
                                  "training.max_norm",
                                  "training.gc_",
                                  "training.seed",
                                  "training.deterministic",
                                  "training.mixed_precision_reduce",
                                  "training.warmup",
                                  "training.disable_cuda_graphs",
                                  "training.debug",
                                  "model.tokenizer",
                                  "model.hf_assets",
                                  "model.print_",
                                  "model.norm_type",
                                  "parallelism.enable_compiled",
                                  "parallelism.enable_async",
                                  "parallelism.disable_loss_parallel",
                                  "parallelism.context_parallel_rotate",
                                  "parallelism.spmd",
                                  "parallelism.enable_fsdp_symm",
                                  "activation_checkpoint.preserve",
                                  "activation_checkpoint.determinism",
                                  "activation_checkpoint.debug",
                                  "activation_checkpoint.early",
                                  "activation_checkpoint.per_op",
                                  "float8.",
                                  "mx.",
                                  "quantize.",
                                  "optimizer.lr",
                                  "optimizer.eps",
                                  "optimizer.beta",
                                  "optimizer.weight_decay",
                                  "optimizer.implementation",
                                  "compile."};

bool is_silent_name(std::string_view name) {
  return std::any_of(silent_names.begin(), silent_names.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

// Sections about logs, files and data do not say what is computed. What is behind `job.config_file` is
// not read.
bool says_what_is_computed(std::string_view name) {
  constexpr std::array others{"job.",        "profiling.",  "profiler.",          "metrics.",
                              "checkpoint.", "comm.",       "memory_estimation.", "lr_scheduler.",
                              "validation.", "validator.",  "fault_tolerance.",   "debug.",
                              "tokenizer.",  "dataloader.", "dump_folder",        "hf_assets_path"};
  return name == "job.config_file"
         || std::none_of(others.begin(), others.end(),
                         [&](std::string_view each) { return name.starts_with(each); });
}

// The line up to a remark, which begins outside of quotes.
std::string_view without_remark(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char const c = line[i];
    if (quote != 0)
      quote = c == quote ? char{} : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#')
      return line.substr(0, i);
  }
  return line;
}

// The number of brackets that a value leaves open.
int open_brackets(std::string_view value) {
  return static_cast<int>(std::count(value.begin(), value.end(), '['))
         - static_cast<int>(std::count(value.begin(), value.end(), ']'));
}

// Writes ["a", "b"] as a b, and [["a", "b"], ["c"]] as a,b c.
std::string list_words(std::string_view list) {
  bool const is_nested = list.substr(0, 1) == "[" && list.find('[', 1) != list.npos;
  std::string words;
  int depth = 0;
  for (char c : list) {
    if (c == '[' || c == ']') depth += c == '[' ? 1 : -1;
    if (c == ',')
      words += is_nested && depth > 1 ? ',' : ' ';
    else if (std::string_view("[]\"' \t\r\n").find(c) == std::string_view::npos)
      words += c;
  }
  // A comma may stand behind the last entry.
  std::string made;
  for (char c : words) {
    bool const ends = made.empty() || made.back() == ' ';
    if (c == ' ' && !made.empty() && made.back() == ',') made.pop_back();
    if (!((c == ' ' || c == ',') && ends)) made += c;
  }
  while (made.ends_with(' ') || made.ends_with(',')) made.pop_back();
  return made;
}

}  // namespace

torchtitan_job::torchtitan_job(std::string const& path) : path_(path) {
  std::string const text = read_text(path);
  if (text.find("--training.") != std::string::npos)
    read_arguments(text);
  else
    read_toml(text);
  must_train();
}

torchtitan_job::torchtitan_job(json_text const& source, nlohmann::json const& values)
    : path_(source.path) {
  for (auto const& [name, value] : values.items())
    values_[name] = value.is_string() ? value.get<std::string>() : value.dump();
  must_train();
}

void torchtitan_job::must_train() const {
  if (word({"training.seq_len"}, "").empty())
    throw usage_error(
        fmt::format("'{}' lacks seq_len in [training]: it is no job of torchtitan", path_));
}

void torchtitan_job::fail(std::string const& what) const {
  throw usage_error(fmt::format("'{}': {}", path_, what));
}

void torchtitan_job::set(std::string const& name, std::string const& value, int line) {
  if (!values_.emplace(name, value).second) fail(fmt::format("line {} says {} again", line, name));
}

void torchtitan_job::read_arguments(std::string const& text) {
  std::string* last = nullptr;
  for (std::string_view line : lines_of(text)) {
    line = trimmed(line);
    if (line.starts_with('#')) continue;
    while (!line.empty()) {
      auto const end = std::min(line.find_first_of(" \t\\"), line.size());
      std::string word(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
      if (word.empty()) continue;
      constexpr std::string_view subcommand = "activation-checkpoint:";
      if (word.starts_with(subcommand)) {
        values_["activation_checkpoint.mode"] = word.substr(subcommand.size());
        last = nullptr;
      } else if (word.starts_with("--")) {
        auto const equals = std::min(word.find('='), word.size());
        std::string name = word.substr(2, equals - 2);
        std::replace(name.begin(), name.end(), '-', '_');
        last = &values_[name];
        *last = equals < word.size() ? word.substr(equals + 1) : "";
      } else if (last != nullptr) {
        *last += (last->empty() ? "" : " ") + std::string(unquoted(word));
      }
    }
  }
}

void torchtitan_job::read_toml(std::string const& text) {
  std::string section, name, value;
  int number = 0, first = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    line = trimmed(without_remark(line));
    if (!name.empty()) {  // goes on with a list
      value += std::string(line) + " ";
    } else if (line.starts_with("[[")) {
      fail(fmt::format("line {} begins a list of tables, which a job has none of", number));
    } else if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      section = trimmed(line.substr(1, line.size() - 2));
      continue;
    } else {
      auto const equals = line.find('=');
      if (equals == line.npos) continue;
      name = (section.empty() ? "" : section + ".") + std::string(trimmed(line.substr(0, equals)));
      value = trimmed(line.substr(equals + 1));
      first = number;
      if (value.starts_with('{'))
        fail(fmt::format("line {} has a table in braces: write [{}]", number, name));
    }
    bool const is_list = value.starts_with('[');
    if (is_list && open_brackets(value) > 0) continue;
    set(name, is_list ? list_words(value) : std::string(unquoted(value)), first);
    name.clear();
  }
  if (!name.empty()) fail(fmt::format("the list of line {} has no end", first));
}

std::string torchtitan_job::word(names any, std::string const& otherwise) const {
  asked_.insert(any.begin(), any.end());
  for (char const* name : any)
    if (auto const at = values_.find(name); at != values_.end()) return at->second;
  return otherwise;
}

long long torchtitan_job::number(names any, long long otherwise) const {
  std::string const found = word(any, "");
  if (found.empty() || found == "None") return otherwise;
  return number_within<long long>(fmt::format("'{}': {}", path_, *any.begin()), found, -1,
                                  largest_framework_size);
}

bool torchtitan_job::flag(names any, bool otherwise) const {
  for (char const* name : any) {
    asked_.insert(name);
    auto const at = values_.find(name);
    if (at == values_.end()) continue;
    if (at->second == "true" || at->second == "True" || at->second.empty()) return true;
    if (at->second == "false" || at->second == "False") return false;
    fail(fmt::format("{} must be true or false, not '{}'", name, at->second.substr(0, 64)));
  }
  return otherwise;
}

std::string torchtitan_job::not_read() const {
  std::string list;
  for (auto const& [key, value] : values_)
    if (says_what_is_computed(key) && asked_.count(key) == 0 && is_silent_name(key))
      list += (list.empty() ? "" : " ") + key;
  return list;
}

std::string torchtitan_job::not_known() const {
  std::string list;
  for (auto const& [key, value] : values_)
    if (says_what_is_computed(key) && asked_.count(key) == 0 && !is_silent_name(key))
      list += (list.empty() ? "" : " ") + key;
  return list;
}

}  // namespace tool
