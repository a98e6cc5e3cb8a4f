#include "train/checkpoint_part.hpp"

#include "command.hpp"
#include "files/durable_file.hpp"

#include <fmt/core.h>
#include <gpt/crc32.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tool {

namespace {

std::string path_of_part(std::string const& folder, std::string const& file) {
  return (std::filesystem::path(folder) / file).string();
}

}  // namespace

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
  all[0] = std::as_bytes(std::span(header));
  write_durably(path_of_part(folder, file), all);
  return part;
}

struct part_reader::state {
  read_only_file file;
  std::string path;
  checkpoint_part const* part;
  std::size_t data;  // where the tensors begin
};

part_reader::part_reader(std::string const& folder, checkpoint_part const& part)
    : state_(new state{read_only_file(path_of_part(folder, part.file)), path_of_part(folder, part.file),
                       &part, 0}) {
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
