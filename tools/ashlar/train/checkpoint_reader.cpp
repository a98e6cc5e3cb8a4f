#include "train/checkpoint_reader.hpp"

#include "command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tool {

namespace {

// Reads the entries behind "tensor[" in a name: "64:128]". None if it has another form.
bool read_entries(std::string_view text, int& first, int& end) {
  auto const number = [&text](int& to, char behind) {
    auto const [at, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc{} || at == text.data() + text.size() || *at != behind) return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
    return true;
  };
  return number(first, ':') && number(end, ']') && text.empty();
}

}  // namespace

std::string stored_name(std::string const& tensor, gpt::tensor_part const& part) {
  return part.is_whole() ? tensor
                         : fmt::format("{}[{}:{}]", tensor, part.first, part.first + part.count);
}

checkpoint_reader::checkpoint_reader(checkpoint const& c) : from_(&c) {
  for (checkpoint_part const& part : c.parts) {
    for (auto const& entry : part.tensors) part_of_[entry.first] = readers_.size();
    readers_.emplace_back(c.folder, part);
  }
}

void checkpoint_reader::read(std::string const& tensor, gpt::tensor_part const& part,
                             std::span<std::byte> bytes) const {
  if (std::string const name = stored_name(tensor, part); part_of_.contains(name))
    return read_stored(name, bytes);
  std::size_t const entry = bytes.size() / static_cast<std::size_t>(part.count);
  int next = part.first;
  int const end = part.first + part.count;
  for (piece const& p : pieces_of(tensor, part.of)) {
    if (p.first > next || next == end) break;
    if (p.first + p.count <= next) continue;
    std::vector<std::byte> stored(static_cast<std::size_t>(p.count) * entry);
    read_stored(p.name, stored);
    int const until = std::min(end, p.first + p.count);
    auto const at = [entry](int entries) {
      return static_cast<std::ptrdiff_t>(entries) * static_cast<std::ptrdiff_t>(entry);
    };
    std::copy(stored.begin() + at(next - p.first), stored.begin() + at(until - p.first),
              bytes.begin() + at(next - part.first));
    next = until;
  }
  if (next != end)
    throw usage_error(fmt::format("'{}' has no tensor '{}'", from_->folder, stored_name(tensor, part)));
}

std::vector<checkpoint_reader::piece> checkpoint_reader::pieces_of(std::string const& tensor,
                                                                   int entries) const {
  std::vector<piece> all;
  if (part_of_.contains(tensor)) all.push_back({0, entries, tensor});
  std::string const prefix = tensor + '[';
  for (auto at = part_of_.lower_bound(prefix); at != part_of_.end() && at->first.starts_with(prefix);
       ++at) {
    int first = 0, end = 0;
    if (read_entries(std::string_view(at->first).substr(prefix.size()), first, end) && first >= 0
        && first < end && end <= entries)
      all.push_back({first, end - first, at->first});
  }
  std::ranges::sort(all, {}, &piece::first);
  return all;
}

void checkpoint_reader::read_stored(std::string const& name, std::span<std::byte> bytes) const {
  readers_[part_of_.at(name)].read(name, bytes);
}

}  // namespace tool
