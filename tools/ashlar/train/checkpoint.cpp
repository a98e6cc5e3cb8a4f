#include "train/checkpoint.hpp"

#include "command.hpp"
#include "files/durable_file.hpp"
#include "train/checkpoint_manifest.hpp"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>

namespace tool {

namespace {

namespace fs = std::filesystem;

constexpr char const* manifest_name = "manifest.json";
constexpr char const* checkpoint_beginning = "step-";
constexpr char const* checkpoint_ending = ".checkpoint";  // gpt::read_corpus passes over such folders
constexpr char const* partial_ending = ".checkpoint.partial";  // and such
constexpr int kept_checkpoints = 2;

// Removes a checkpoint; one that is half removed must not have the name of one.
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

std::string name_of_step(int step) {
  return fmt::format("{}{:08}{}", checkpoint_beginning, step, checkpoint_ending);
}

// Whether it has the name of some step's checkpoint.
bool names_step(std::string const& name) {
  return name.starts_with(checkpoint_beginning) && name.ends_with(checkpoint_ending);
}

// Folders with names of checkpoints, by step.
std::vector<fs::path> checkpoints_in(std::string const& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (names_step(at->path().filename().string())) all.push_back(at->path());
  std::sort(all.begin(), all.end(), [](fs::path const& a, fs::path const& b) {
    std::string const first = a.filename().string(), second = b.filename().string();
    return first.size() != second.size() ? first.size() < second.size() : first < second;
  });
  return all;
}

// The name and the manifest must have the same step. A folder with another name has none.
void must_have_its_name(checkpoint const& c) {
  fs::path path = fs::path(c.folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  std::string const name = path.filename().string(), right = name_of_step(c.step);
  if (names_step(name) && name != right)
    throw usage_error(fmt::format(
        "'{}' has another name than its manifest says: it is {}; rename or remove it", c.folder, right));
}

void must_succeed(std::error_code const& error, char const* verb, std::string const& path) {
  if (!error) return;
  std::string const said = fmt::format("cannot {} '{}': {}", verb, path, error.message());
  if (error == std::errc::no_space_on_device) throw run_error(said);
  throw usage_error(said);
}

}  // namespace

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
  if (!fs::exists(path, ignored))
    throw usage_error(
        fmt::format("'{}' has no {}: it is no complete checkpoint; remove it", found, manifest_name));
  read_only_file const file(path);
  std::string text(std::min<std::size_t>(file.size(), std::size_t{64} << 20), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  checkpoint c = checkpoint_of_manifest(text, path);
  c.folder = found;
  must_have_its_name(c);
  return c;
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
  same("--prediction-layer", now.predicts, c.identity.predicts);
  same("--experts", now.experts, c.identity.experts);
  same("--precision", now.precision, c.identity.precision);
  same("--seed", now.seed, c.identity.seed);
  same("the number of bytes of the text", now.text_bytes, c.identity.text_bytes);
  same("the checksum of the text", now.text_crc32, c.identity.text_crc32);
}

std::string checkpoint_folder::final_name(int step) const { return in(path_, name_of_step(step)); }

void checkpoint_folder::remove_what_is_left() const {
  std::error_code error;
  std::vector<fs::path> left;  // by a training that was killed
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error))
    if (at->path().string().ends_with(partial_ending)) left.push_back(at->path());
  for (fs::path const& path : left) fs::remove_all(path, error);
}

void checkpoint_folder::must_have_room(checkpoint const& c, int count) const {
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
  auto const already = static_cast<std::int64_t>(checkpoints_in(path_).size());
  auto const more = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(kept_checkpoints + 1 - already, 1, std::max(1, count)));
  if (more * blocks <= there.f_bavail) return;
  std::string const why = fmt::format(
      "--save: '{}' has room for {} bytes, and {} takes {}", path_, there.f_bavail * block,
      more == 1 ? "a checkpoint" : fmt::format("each of {} checkpoints", more), blocks * block);
  if (already > 0) throw run_error(why);
  throw usage_error(why);
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
  // A checkpoint of the same step, from a training that was resumed from before it, makes way.
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

}  // namespace tool
