#include "predict/module_file.hpp"

#include "command.hpp"
#include "predict/frozen_choice.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;

constexpr long long module_file_version = 1;
constexpr double module_largest_size = 1e12;

constexpr std::array module_mixer_kinds{std::pair{"attention", mixer_kind::attention},
                                        std::pair{"compressed", mixer_kind::compressed},
                                        std::pair{"state_space", mixer_kind::state_space}};
constexpr std::array module_feed_kinds{std::pair{"dense", feed_forward_kind::dense},
                                       std::pair{"experts", feed_forward_kind::experts}};

constexpr std::array module_mixer_sizes{
    std::pair{"heads", &mixer::heads},     std::pair{"groups", &mixer::groups},
    std::pair{"head", &mixer::head},       std::pair{"window", &mixer::window},
    std::pair{"chunk", &mixer::chunk},     std::pair{"q_rank", &mixer::q_rank},
    std::pair{"kv_rank", &mixer::kv_rank}, std::pair{"nope", &mixer::nope},
    std::pair{"rope", &mixer::rope},       std::pair{"value_head", &mixer::value_head},
    std::pair{"inner", &mixer::inner},     std::pair{"keys", &mixer::keys},
    std::pair{"steps", &mixer::steps},     std::pair{"rank", &mixer::rank},
    std::pair{"beside", &mixer::beside}};
constexpr std::array module_mixer_flags{std::pair{"has_gate", &mixer::has_gate}};

constexpr std::array module_feed_sizes{std::pair{"width", &feed_forward::width},
                                       std::pair{"experts", &feed_forward::experts},
                                       std::pair{"chosen", &feed_forward::chosen},
                                       std::pair{"expert_width", &feed_forward::expert_width},
                                       std::pair{"shared_width", &feed_forward::shared_width},
                                       std::pair{"latent", &feed_forward::latent},
                                       std::pair{"groups", &feed_forward::groups},
                                       std::pair{"chosen_groups", &feed_forward::chosen_groups},
                                       std::pair{"beside", &feed_forward::beside},
                                       std::pair{"beside_expert", &feed_forward::beside_expert}};
constexpr std::array module_feed_flags{std::pair{"is_gated", &feed_forward::is_gated},
                                       std::pair{"is_clamped", &feed_forward::is_clamped}};

class module_reader : json_reader {
 public:
  explicit module_reader(json_text const& text) : json_reader(text) {}

  architecture read(nlohmann::json const& root, std::string& left_out) const {
    if (whole(at(root, "ashlar_model"), "ashlar_model", 1, most_count) != module_file_version)
      fail(root, fmt::format("is of another version than {}", module_file_version));
    auto const found = root.find("architecture");
    if (found == root.end()) {
      auto const reason = root.find("no_architecture");
      fail(root, fmt::format("has a model that no prediction can be made of: {}",
                             reason == root.end() ? "the file lacks \"architecture\""
                                                  : text(*reason, "no_architecture")));
    }
    architecture a = decoder(object(*found, "architecture"));
    double outside = 0;
    if (auto const parts = found->find("left_out"); parts != found->end())
      for (auto const& [name, count] : object(*parts, "left_out").items()) {
        left_out += (left_out.empty() ? "" : ", ") + name.substr(0, 64);
        outside += size(count, "left_out");
      }
    must_agree(root, a, outside);
    return a;
  }

 private:
  static constexpr long long most_count = 1'000'000;

  double size(nlohmann::json const& value, char const* key) const {
    return number(value, key, 0, module_largest_size);
  }

  template <class Kind, std::size_t Count>
  Kind kind(nlohmann::json const& part,
            std::array<std::pair<char const*, Kind>, Count> const& kinds) const {
    nlohmann::json const& word = at(part, "kind");
    std::string const name = text(word, "kind");
    for (auto const& [known, meaning] : kinds)
      if (name == known) return meaning;
    fail(word, fmt::format("has no such \"kind\": '{}'", name.substr(0, 64)));
  }

  template <class Part, class Sizes, class Flags>
  void fill(nlohmann::json const& from, Part& part, Sizes const& sizes, Flags const& flags) const {
    for (auto const& [key, value] : from.items()) {
      if (key == "kind") continue;
      bool is_known = false;
      for (auto const& [name, member] : sizes)
        if (key == name) {
          part.*member = size(value, name);
          is_known = true;
        }
      for (auto const& [name, member] : flags)
        if (key == name) {
          if (!value.is_boolean()) fail(value, fmt::format("\"{}\" must be true or false", name));
          part.*member = value == true;
          is_known = true;
        }
      if (!is_known) fail(value, fmt::format("has no such key: \"{}\"", key.substr(0, 64)));
    }
  }

  layer layer_of(nlohmann::json const& from) const {
    layer l;
    if (auto const mix = from.find("mix"); mix != from.end()) {
      l.mix.kind = kind(object(*mix, "mix"), module_mixer_kinds);
      fill(*mix, l.mix, module_mixer_sizes, module_mixer_flags);
      bool const attends = l.mix.kind == mixer_kind::attention;
      if (attends && (!(l.mix.groups > 0) || std::fmod(l.mix.heads, l.mix.groups) > 0))
        fail(*mix, fmt::format("has {} heads of attention, which are no multiple of its {} key heads",
                               l.mix.heads, l.mix.groups));
    }
    if (auto const feed = from.find("feed"); feed != from.end()) {
      l.feed.kind = kind(object(*feed, "feed"), module_feed_kinds);
      fill(*feed, l.feed, module_feed_sizes, module_feed_flags);
      bool const routes = l.feed.kind == feed_forward_kind::experts;
      if (routes && (!(l.feed.chosen > 0) || l.feed.chosen > l.feed.experts))
        fail(*feed, fmt::format("chooses {} of {} experts for a token", l.feed.chosen, l.feed.experts));
    }
    return l;
  }

  architecture decoder(nlohmann::json const& from) const {
    architecture a;
    a.hidden = number(at(from, "hidden"), "hidden", 1, module_largest_size);
    a.vocabulary = number(at(from, "vocabulary"), "vocabulary", 1, module_largest_size);
    a.embedding = size(at(from, "embedding"), "embedding");
    a.beside = size(at(from, "beside"), "beside");
    nlohmann::json const& tied = at(from, "is_tied");
    if (!tied.is_boolean()) fail(tied, "\"is_tied\" must be true or false");
    a.is_tied = tied.get<bool>();
    for (nlohmann::json const& each : list(at(from, "kinds"), "kinds"))
      a.kinds.push_back(layer_of(object(each, "kinds")));
    auto const last = static_cast<long long>(a.kinds.size()) - 1;
    for (nlohmann::json const& each : list(at(from, "layers"), "layers"))
      a.layers.push_back(static_cast<int>(whole(each, "layers", 0, last)));
    if (a.layers.empty()) fail(from, "has no layers");
    if (from.contains("predictions")) {
      a.predictions = static_cast<int>(whole(from["predictions"], "predictions", 0, 1000));
      auto const predictor = whole(at(from, "predictor"), "predictor", 0, last);
      a.predictor = a.kinds[static_cast<std::size_t>(predictor)];
    }
    if (from.contains("freeze")) a.frozen = frozen_parts_of(text(from["freeze"], "freeze"), a);
    return a;
  }

  // A file that was changed by hand may contradict itself.
  void must_agree(nlohmann::json const& root, architecture const& a, double outside) const {
    nlohmann::json const& counts = object(at(root, "parameters"), "parameters");
    double const told = size(at(counts, "all"), "all"), made = ashlar::cost::parameters(a) + outside;
    if (std::fabs(told - made) > 0.5)
      fail(counts, fmt::format("has {} parameters, but those of its architecture are {}", told, made));
  }
};

}  // namespace

architecture read_module_file(json_text const& text, std::string& left_out) {
  return module_reader(text).read(text.root(), left_out);
}

}  // namespace tool
