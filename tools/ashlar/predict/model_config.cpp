#include "predict/model_config.hpp"

#include "predict/model_config_keys.hpp"
#include "predict/names.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

// Whether the value is null, false or otherwise as good as absent.
bool is_off(nlohmann::json const& value) {
  return value.is_null() || value == false || value == 0
         || ((value.is_array() || value.is_object() || value.is_string()) && value.empty());
}

// Whether this is nearly the name of a key that the file lacks.
bool is_misspelt(std::string const& key, std::vector<std::string> const& lacking) {
  constexpr std::size_t shortest = 8;  // short names resemble others
  return key.size() >= shortest
         && std::any_of(lacking.begin(), lacking.end(),
                        [&](std::string const& each) { return ashlar::edits(key, each) <= 2; });
}

// The first of a list of equal values; any other value itself.
nlohmann::json const& one_of_all(nlohmann::json const& value) {
  if (!value.is_array() || value.empty()) return value;
  bool const are_equal = std::all_of(value.begin(), value.end(),
                                     [&](nlohmann::json const& each) { return each == value.front(); });
  return are_equal ? value.front() : value;
}

}  // namespace

char const* model_config::own_name(char const* key) const {
  if (own_ == nullptr) return key;
  nlohmann::json const& names = own_->at("names");
  auto const at = names.find(key);
  auto const known = known_->find(at == names.end() ? key : at->get_ref<std::string const&>());
  return known == known_->end() ? nullptr : known.key().c_str();
}

nlohmann::json const* model_config::find(keys any, char const** found) const {
  std::vector<char const*> names;
  for (char const* key : any)
    if (char const* const name = own_name(key); name != nullptr) names.push_back(name);
  for (char const* key : names) asked_.emplace_back(key);
  for (nlohmann::json const* from : {&object_, defaults_}) {
    if (from == nullptr) continue;
    for (char const* key : names)
      if (auto const at = from->find(key); at != from->end()) {
        *found = key;
        return at->is_null() ? nullptr : &*at;  // null takes a default back
      }
  }
  return nullptr;
}

double model_config::size_or(keys any, double otherwise) const {
  char const* key = "";
  nlohmann::json const* const value = find(any, &key);
  if (value == nullptr || is_off(*value)) return otherwise;
  return static_cast<double>(read_.whole(one_of_all(*value), key, 1, 1'000'000'000));
}

double model_config::size(keys any) const {
  double const found = size_or(any, 0);
  if (!(found > 0)) fail_for_lack_of(*any.begin());
  return found;
}

double model_config::real(char const* key) const {
  nlohmann::json const* const value = find({key}, &key);
  if (value == nullptr || !value->is_number()) fail(fmt::format("lacks the number \"{}\"", key));
  return value->get<double>();
}

long long model_config::whole_or(char const* key, long long otherwise) const {
  nlohmann::json const* const value = find({key}, &key);
  return value == nullptr ? otherwise : read_.whole(*value, key, -1, 1'000'000);
}

bool model_config::is_text(char const* key) const {
  nlohmann::json const* const value = find({key}, &key);
  return value != nullptr && value->is_string();
}

bool model_config::flag(keys any, bool otherwise) const {
  char const* key = "";
  nlohmann::json const* const value = find(any, &key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) read_.fail(*value, fmt::format("\"{}\" must be true or false", key));
  return value->get<bool>();
}

bool model_config::flag(keys any) const {
  char const* key = "";
  if (find(any, &key) == nullptr) fail_for_lack_of(*any.begin());
  return flag(any, false);
}

std::string model_config::word(keys any, std::string const& otherwise) const {
  char const* key = "";
  nlohmann::json const* const value = find(any, &key);
  return value == nullptr ? otherwise : read_.text(*value, key);
}

std::vector<std::string> model_config::words(keys any) const {
  char const* key = "";
  nlohmann::json const* const value = find(any, &key);
  std::vector<std::string> all;
  if (value == nullptr) return all;
  for (nlohmann::json const& each : read_.list(*value, key)) all.push_back(read_.text(each, key));
  return all;
}

std::vector<long long> model_config::numbers(keys any) const {
  char const* key = "";
  nlohmann::json const* const value = find(any, &key);
  std::vector<long long> all;
  if (value == nullptr || value->is_boolean()) return all;
  for (nlohmann::json const& each : read_.list(*value, key))
    all.push_back(read_.whole(each, key, 0, 1'000'000));
  return all;
}

bool model_config::has(keys any) const {
  char const* key = "";
  nlohmann::json const* const value = find(any, &key);
  return value != nullptr && !is_off(*value);
}

bool model_config::gives(char const* key) const {
  asked_.emplace_back(key);
  auto const at = object_.find(key);
  return at != object_.end() && !is_off(*at);
}

model_config model_config::part(char const* key) const {
  nlohmann::json const* const value = find({key}, &key);
  if (value == nullptr || !value->is_object()) fail(fmt::format("lacks the object \"{}\"", key));
  return model_config(read_, *value);
}

std::vector<model_config> model_config::parts(char const* key) const {
  nlohmann::json const* const value = find({key}, &key);
  if (value == nullptr) fail_for_lack_of(key);
  std::vector<model_config> all;
  for (nlohmann::json const& each : read_.list(*value, key)) all.push_back(model_config(read_, each));
  return all;
}

void model_config::fail_for_lack_of(char const* key) const {
  char const* const name = own_name(key);
  fail(fmt::format("lacks \"{}\"", name == nullptr ? key : name));
}

void model_config::must_be_understood_by_own_code(std::string const& type) const {
  auto const is_quiet = [](nlohmann::json const& list, std::string const& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (auto const& [key, value] : object_.items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    auto const at = known_->find(key);
    bool const is_default = at != known_->end() && (value == *at || value.is_null());
    bool const is_silent = at == known_->end()
                           && (is_off(value) || says_nothing(key) || is_quiet(*quiet_, key)
                               || is_quiet(own_->at("quiet"), key));
    if (!is_default && !is_silent)
      read_.fail(value, fmt::format("\"{}\" is not understood for models of type '{}', whose code comes "
                                    "with its weights, and may change them; null it to leave it out",
                                    key.substr(0, 64), type));
  }
}

std::vector<std::string> model_config::must_be_understood(std::string const& type) const {
  if (own_ != nullptr) {
    must_be_understood_by_own_code(type);
    return {};
  }
  std::vector<std::string> const asked(asked_.begin(), asked_.end());
  std::vector<std::string> lacking;
  for (std::string const& each : asked)
    if (!object_.contains(each)) lacking.push_back(each);
  std::vector<std::string> ignored;
  for (auto const& [key, value] : object_.items()) {
    if (is_off(value)) continue;
    if (std::find(asked.begin(), asked.end(), key) != asked.end()) continue;
    bool const is_known = known_ == nullptr || known_->contains(key);
    if (!is_known && is_foreign(key, value))
      read_.fail(value,
                 fmt::format("\"{}\" is of another kind of model than '{}'; null it to leave it out",
                             key, type));
    if (says_nothing(key) || (known_ != nullptr && is_known && value == known_->at(key))) continue;
    if (!is_known && !is_misspelt(key, lacking))
      ignored.push_back(key);
    else
      read_.fail(value, fmt::format("\"{}\" is not understood for models of type '{}', and may change "
                                    "them{}; null it to leave it out",
                                    key.substr(0, 64), type, did_you_mean(key, lacking)));
  }
  return ignored;
}

}  // namespace tool
