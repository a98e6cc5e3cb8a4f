#include "train/checkpoint_manifest.hpp"

#include "command.hpp"

#include <fmt/core.h>
#include <gpt/crc32.hpp>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace tool {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::span<std::byte const> bytes_of_manifest(std::string const& text) {
  return std::as_bytes(std::span(text));
}

json json_of(checkpoint const& c) {
  json parts = json::array();
  for (checkpoint_part const& part : c.parts) parts.push_back(json_of(part));
  return {{"step", c.step},
          {"updates", c.updates},
          {"batches", c.batches},
          {"seed", c.identity.seed},
          {"model",
           {{"blocks", c.identity.blocks},
            {"width", c.identity.width},
            {"heads", c.identity.heads},
            {"context", c.identity.context},
            {"tied", c.identity.tied},
            {"prediction_layer", c.identity.predicts},
            {"experts", c.identity.experts},
            {"precision", c.identity.precision}}},
          {"text", {{"bytes", c.identity.text_bytes}, {"crc32", c.identity.text_crc32}}},
          {"losses", {{"counted", c.counted_losses}, {"first", c.first_loss}, {"mean", c.mean_loss}}},
          {"parts", parts}};
}

// A whole number from 0 to `most`. Throws json::exception.
std::uint64_t whole_of(json const& value, char const* key, std::uint64_t most) {
  json const& number = value.at(key);
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() > most)
    throw json::other_error::create(500, std::string(key) + " is out of range", &value);
  return number.get<std::uint64_t>();
}

checkpoint checkpoint_from(json const& value) {
  checkpoint c;
  c.step = static_cast<int>(whole_of(value, "step", most_steps));
  c.updates = static_cast<int>(whole_of(value, "updates", static_cast<std::uint64_t>(c.step)));
  c.batches = whole_of(value, "batches", most_batches);
  value.at("seed").get_to(c.identity.seed);
  json const& model = value.at("model");
  model.at("blocks").get_to(c.identity.blocks);
  model.at("width").get_to(c.identity.width);
  model.at("heads").get_to(c.identity.heads);
  model.at("context").get_to(c.identity.context);
  model.at("tied").get_to(c.identity.tied);
  c.identity.predicts = model.value("prediction_layer", false);
  c.identity.experts = model.value("experts", 0);
  model.at("precision").get_to(c.identity.precision);
  value.at("text").at("bytes").get_to(c.identity.text_bytes);
  value.at("text").at("crc32").get_to(c.identity.text_crc32);
  c.counted_losses =
      static_cast<int>(whole_of(value.at("losses"), "counted", static_cast<std::uint64_t>(c.step)));
  value.at("losses").at("first").get_to(c.first_loss);
  value.at("losses").at("mean").get_to(c.mean_loss);
  for (json const& part : value.at("parts")) c.parts.push_back(part_from(part));
  return c;
}

}  // namespace

json json_of(checkpoint_part const& part) {
  json tensors = json::object();
  for (auto const& [name, t] : part.tensors)
    tensors[name] = {{"dtype", t.stored.type},
                     {"shape", t.stored.shape},
                     {"data_offsets", {t.stored.begin, t.stored.begin + t.stored.size}},
                     {"crc32", t.crc32}};
  return {{"file", part.file}, {"bytes", part.bytes}, {"tensors", tensors}};
}

checkpoint_part part_from(json const& value) {
  checkpoint_part part{value.at("file"), value.at("bytes"), {}};
  // A part lies in the folder of its checkpoint, and nowhere else.
  if (fs::path const file = part.file; file.empty() || file.has_root_path() || file.has_parent_path()
                                       || file == "." || file == ".."
                                       || part.file.find('\0') != std::string::npos)
    throw json::other_error::create(500, "the file is no name", &value);
  for (auto const& [name, t] : value.at("tensors").items()) {
    auto const begin = t.at("data_offsets").at(0).get<std::size_t>(),
               end = t.at("data_offsets").at(1).get<std::size_t>();
    if (end < begin) throw json::other_error::create(500, "a tensor ends before it begins", &value);
    part.tensors[name] = {{t.at("dtype"), t.at("shape"), begin, end - begin}, t.at("crc32")};
  }
  return part;
}

std::string manifest_of(checkpoint const& c) {
  json const content = json_of(c);
  return json{{"format", "ashlar checkpoint"},
              {"version", 1},
              {"crc32", gpt::crc32(bytes_of_manifest(content.dump()))},
              {"checkpoint", content}}
             .dump(1)
         + "\n";
}

checkpoint checkpoint_of_manifest(std::string const& text, std::string const& path) {
  try {
    if (text.find('\0') != std::string::npos)  // the parser would take it for the end
      throw json::other_error::create(500, "a byte is zero", nullptr);
    json const manifest = json::parse(text, [](int level, json::parse_event_t, json&) {
      constexpr int most_levels = 16;
      if (level > most_levels) throw json::other_error::create(500, "it is too deep", nullptr);
      return true;
    });
    json const& content = manifest.at("checkpoint");
    if (manifest.at("version") != 1)
      throw usage_error(fmt::format("'{}' is of a version that this ashlar cannot read", path));
    if (manifest.at("crc32") != gpt::crc32(bytes_of_manifest(content.dump())))
      throw usage_error(fmt::format("'{}' is damaged: its checksum is another", path));
    return checkpoint_from(content);
  } catch (json::exception const&) {
    throw usage_error(fmt::format("'{}' is damaged: it is not the manifest of a checkpoint", path));
  }
}

}  // namespace tool
