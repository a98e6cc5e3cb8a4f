#include "train/checkpoint.hpp"

#include "command.hpp"
#include "files/durable_file.hpp"

#include <fmt/core.h>
#include <gpt/crc32.hpp>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tool {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char const* manifest_name = "manifest.json";
constexpr char const* checkpoint_ending = ".checkpoint";  // gpt::read_corpus passes over such folders
constexpr char const* partial_ending = ".checkpoint.partial";  // and such
constexpr int kept_checkpoints = 2;
constexpr int most_steps = 1'000'000'000;
constexpr std::uint64_t most_batches = std::uint64_t{1} << 62U;

// Removes a checkpoint; what is half removed must not have the name of one.
void retire(fs::path const& path) {
  fs::path const away = path.parent_path() / ("removed-" + path.filename().string() + ".partial");
  std::error_code error;
  fs::rename(path, away, error);
  if (error) throw usage_error(fmt::format("cannot remove '{}': {}", path.string(), error.message()));
  fs::remove_all(away, error);
}

std::span<std::byte const> bytes_of(std::string const& text) { return std::as_bytes(std::span(text)); }

std::string in(std::string const& folder, std::string const& file) {
  return (fs::path(folder) / file).string();
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
            {"experts", c.identity.experts},
            {"precision", c.identity.precision}}},
          {"text", {{"bytes", c.identity.text_bytes}, {"crc32", c.identity.text_crc32}}},
          {"losses", {{"counted", c.counted_losses}, {"first", c.first_loss}, {"mean", c.mean_loss}}},
          {"parts", parts}};
}

std::string manifest_of(checkpoint const& c) {
  json const content = json_of(c);
  return json{{"format", "ashlar checkpoint"},
              {"version", 1},
              {"crc32", gpt::crc32(bytes_of(content.dump()))},
              {"checkpoint", content}}
             .dump(1)
         + "\n";
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

// Complete checkpoints, by step.
std::vector<fs::path> checkpoints_in(std::string const& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    fs::path const& path = at->path();
    if (path.extension() == checkpoint_ending && fs::exists(path / manifest_name, error))
      all.push_back(path);
  }
  std::sort(all.begin(), all.end());  // names have the same length
  return all;
}

void must_succeed(std::error_code const& error, char const* verb, std::string const& path) {
  if (error) throw usage_error(fmt::format("cannot {} '{}': {}", verb, path, error.message()));
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

std::string newest_checkpoint(std::string const& folder) {
  auto const all = checkpoints_in(folder);
  return all.empty() ? "" : all.back().string();
}

checkpoint read_checkpoint(std::string const& folder) {
  std::error_code ignored;
  std::string found = folder;
  if (!fs::exists(fs::path(folder) / manifest_name, ignored)) found = newest_checkpoint(folder);
  if (found.empty()) throw usage_error(fmt::format("there is no complete checkpoint in '{}'", folder));
  std::string const path = in(found, manifest_name);
  read_only_file const file(path);
  std::string text(std::min<std::size_t>(file.size(), std::size_t{64} << 20), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  try {
    json const manifest = json::parse(text, [](int level, json::parse_event_t, json&) {
      constexpr int most_levels = 16;
      if (level > most_levels) throw json::other_error::create(500, "it is too deep", nullptr);
      return true;
    });
    json const& content = manifest.at("checkpoint");
    if (manifest.at("version") != 1)
      throw usage_error(fmt::format("'{}' is of a version that this ashlar cannot read", path));
    if (manifest.at("crc32") != gpt::crc32(bytes_of(content.dump())))
      throw usage_error(fmt::format("'{}' is damaged: its checksum is another", path));
    checkpoint c = checkpoint_from(content);
    c.folder = found;
    return c;
  } catch (json::exception const&) {
    throw usage_error(fmt::format("'{}' is damaged: it is not the manifest of a checkpoint", path));
  }
}

void require_same_training(checkpoint const& c, checkpoint_identity const& now) {
  auto const same = [&](char const* what, auto const& mine, auto const& saved) {
    if (mine != saved)
      throw usage_error(fmt::format("{} is {} here, and {} in '{}'", what, mine, saved, c.folder));
  };
  same("--blocks", now.blocks, c.identity.blocks);
  same("--width", now.width, c.identity.width);
  same("--heads", now.heads, c.identity.heads);
  same("--context", now.context, c.identity.context);
  same("--tie-embeddings", now.tied, c.identity.tied);
  same("--experts", now.experts, c.identity.experts);
  same("--precision", now.precision, c.identity.precision);
  same("--seed", now.seed, c.identity.seed);
  same("the number of bytes of the text", now.text_bytes, c.identity.text_bytes);
  same("the checksum of the text", now.text_crc32, c.identity.text_crc32);
}

std::string checkpoint_folder::final_name(int step) const {
  return in(path_, fmt::format("step-{:08}{}", step, checkpoint_ending));
}

void checkpoint_folder::remove_what_is_left() const {
  std::error_code error;
  std::vector<fs::path> left;  // by a training that was killed
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error))
    if (at->path().string().ends_with(partial_ending)) left.push_back(at->path());
  for (fs::path const& path : left) fs::remove_all(path, error);
}

void checkpoint_folder::must_have_room(checkpoint const& c) const {
  remove_what_is_left();
  struct statvfs there {};
  if (statvfs(path_.c_str(), &there) != 0 || there.f_blocks == 0) return;
  std::uint64_t const block = std::max<std::uint64_t>(1, there.f_frsize);
  auto const blocks_of = [&](std::uint64_t bytes) { return (bytes + block - 1) / block; };
  checkpoint longest = c;  // in digits
  longest.step = longest.updates = longest.counted_losses = most_steps;
  longest.batches = most_batches;
  longest.first_loss = longest.mean_loss = -std::numeric_limits<double>::min() / 3;
  std::uint64_t blocks = 1 + blocks_of(manifest_of(longest).size());  // of the folder, and the manifest
  for (checkpoint_part const& part : c.parts) blocks += blocks_of(part.bytes);
  if (blocks > there.f_bavail)
    throw usage_error(fmt::format("--save: '{}' has room for {} bytes, and a checkpoint takes {}", path_,
                                  there.f_bavail * block, blocks * block));
}

void checkpoint_folder::begin(int step) const {
  remove_what_is_left();
  discard(step);
  std::error_code error;
  fs::create_directories(partial(step), error);
  must_succeed(error, "make the folder", partial(step));
}

std::string checkpoint_folder::complete(checkpoint const& c) const {
  std::string const from = partial(c.step), to = final_name(c.step);
  std::string const text = manifest_of(c);
  write_durably(in(from, manifest_name), {bytes_of(text)});
  sync_folder(from);
  // One of the same step, of a training that was resumed from before it, makes way.
  std::error_code error;
  if (fs::exists(to, error)) retire(to);
  fs::rename(from, to, error);
  must_succeed(error, "write", to);
  sync_folder(path_);
  auto all = checkpoints_in(path_);
  for (std::size_t i = 0; i + kept_checkpoints < all.size(); ++i) retire(all[i]);
  return to;
}

void checkpoint_folder::discard(int step) const {
  std::error_code error;
  fs::remove_all(partial(step), error);
  must_succeed(error, "remove", partial(step));
}

checkpoint_part laid_out(std::string file, gpt::stored_tensors tensors) {
  checkpoint_part part{std::move(file), 0, {}};
  std::size_t begin = 0;
  for (auto& [name, t] : tensors) {
    t.begin = begin;
    begin += t.size;
    part.tensors[name] = {t, std::numeric_limits<std::uint32_t>::max()};
  }
  part.bytes = gpt::safetensors_header(tensors).size() + begin;
  return part;
}

checkpoint_part write_part(std::string const& folder, std::string const& file,
                           std::map<std::string, std::span<std::byte const>> const& data,
                           gpt::stored_tensors tensors) {
  checkpoint_part part = laid_out(file, tensors);
  std::vector<std::span<std::byte const>> all(1);
  for (auto& [name, t] : part.tensors) {
    all.push_back(data.at(name));
    t.crc32 = gpt::crc32(all.back());
    tensors[name] = t.stored;
  }
  std::string const header = gpt::safetensors_header(tensors);
  all[0] = bytes_of(header);
  write_durably(in(folder, file), all);
  return part;
}

struct part_reader::state {
  read_only_file file;
  std::string path;
  checkpoint_part const* part;
  std::size_t data;  // where the tensors begin
};

part_reader::part_reader(std::string const& folder, checkpoint_part const& part)
    : state_(new state{read_only_file(in(folder, part.file)), in(folder, part.file), &part, 0}) {
  read_only_file const& file = state_->file;
  auto const refuse = [&](std::string const& why) {
    throw usage_error(fmt::format("'{}' is damaged: {}", state_->path, why));
  };
  if (file.size() != part.bytes)
    refuse(fmt::format("it has {} bytes instead of {}", file.size(), part.bytes));
  try {
    std::array<std::byte, 8> first{};
    if (file.size() >= first.size()) file.read(0, first);
    std::string header(gpt::safetensors_header_length(first, file.size()), '\0');
    file.read(first.size(), std::as_writable_bytes(std::span(header)));
    state_->data = first.size() + header.size();
    auto const found = gpt::read_safetensors_header(header, file.size() - state_->data);
    for (auto const& [name, t] : part.tensors)
      if (auto const at = found.find(name); at == found.end() || at->second != t.stored)
        refuse(fmt::format("tensor '{}' is not where it was written", name));
  } catch (usage_error const&) {
    throw;
  } catch (std::runtime_error const& e) {
    refuse(e.what());
  }
}

part_reader::~part_reader() = default;
part_reader::part_reader(part_reader&&) noexcept = default;

void part_reader::read(std::string const& name, std::span<std::byte> bytes) const {
  auto const at = state_->part->tensors.find(name);
  auto const refuse = [&](char const* why) {
    throw usage_error(fmt::format("'{}' is damaged: tensor '{}' {}", state_->path, name, why));
  };
  if (at == state_->part->tensors.end()) refuse("is missing");
  if (at->second.stored.size != bytes.size()) refuse("has another size than in this model");
  state_->file.read(state_->data + at->second.stored.begin, bytes);
  if (gpt::crc32(bytes) != at->second.crc32) refuse("has another checksum than when it was written");
}

}  // namespace tool
