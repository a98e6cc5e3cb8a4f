#include "predict/megatron_names.hpp"

#include "predict/embedded.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <vector>

namespace tool {

namespace {

struct kind_of_name {
  std::vector<std::string> begins, is, unless;
  std::string why;
  bool trains = false;
};

struct name_table {
  std::vector<kind_of_name> programs;
  std::vector<std::string> encoders, encoder_decoders, parts_of_models;
};

std::vector<std::string> texts_of(nlohmann::json const& list) {
  return list.get<std::vector<std::string>>();
}

name_table made_names() {
  nlohmann::json const table = nlohmann::json::parse(embedded_megatron_names());
  name_table made{{},
                  texts_of(table["encoders"]),
                  texts_of(table["encoder_decoders"]),
                  texts_of(table["parts_of_models"])};
  for (nlohmann::json const& kind : table["programs"])
    made.programs.push_back({texts_of(kind["begins"]), texts_of(kind["is"]), texts_of(kind["unless"]),
                             kind["why"].get<std::string>(), kind.value("trains", false)});
  return made;
}

name_table const& names() {
  static name_table const all = made_names();
  return all;
}

// Runs of letters and digits, in small letters.
std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (char const c : name) {
    auto const byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      words.back() += static_cast<char>(std::tolower(byte));
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

bool begins_one(std::vector<std::string> const& beginnings, std::vector<std::string> const& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string const& word) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string const& begin) { return word.starts_with(begin); });
  });
}

std::vector<std::string> words_of_program(std::string_view program) {
  program = program.substr(program.rfind('/') + 1);  // all of it, if there is no slash
  if (program.ends_with(".py")) program.remove_suffix(3);
  return words_of_name(program);
}

kind_of_name const* kind_of(std::string_view program) {
  std::vector<std::string> const words = words_of_program(program);
  for (kind_of_name const& kind : names().programs) {
    bool const is_one =
        begins_one(kind.begins, words)
        || std::find_first_of(words.begin(), words.end(), kind.is.begin(), kind.is.end()) != words.end();
    if (is_one && !begins_one(kind.unless, words)) return &kind;
  }
  return nullptr;
}

}  // namespace

std::string why_other_program(std::string_view program) {
  kind_of_name const* const kind = kind_of(program);
  return kind == nullptr ? "" : kind->why;
}

bool may_train(std::string_view program) {
  kind_of_name const* const kind = kind_of(program);
  return kind == nullptr || kind->trains;
}

bool trains_encoder(std::string_view program) {
  return begins_one(names().encoders, words_of_program(program));
}

bool trains_encoder_decoder(std::string_view program) {
  return begins_one(names().encoder_decoders, words_of_program(program));
}

bool tells_of_model(std::string_view argument) {
  std::vector<std::string> const& parts = names().parts_of_models;
  for (std::size_t at = 0; at <= argument.size();) {
    std::size_t const end = std::min(argument.find('_', at), argument.size());
    if (std::find(parts.begin(), parts.end(), argument.substr(at, end - at)) != parts.end()) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace tool
