// Text to train on: a file, or all text files below a folder.
#pragma once

#include "config.hpp"
#include "embedding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpt {

struct corpus_options {
  std::uintmax_t largest_file = 1 << 20;  // bytes; larger files of a folder are skipped
  std::size_t most = 64 << 20;  // bytes; reading a folder stops before the file that would exceed it
};

namespace detail {

// Throws std::runtime_error.
inline std::vector<token> read_file(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::streamoff const size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  std::vector<token> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (size > 0) in.seekg(0).read(reinterpret_cast<char*>(bytes.data()), size);
  if (size < 0 || !in) throw std::runtime_error("cannot read " + path.string());
  return bytes;
}

// Whether a folder is hidden or holds what builds leave behind.
inline bool is_skipped_folder(std::string const& name) {
  return name.starts_with('.') || name.ends_with(".checkpoint") || name.ends_with(".checkpoint.partial")
         || name.starts_with("build") || name.starts_with("cmake-build") || name == "out"
         || name == "node_modules" || name == "__pycache__";
}

// The files below a folder that may be text, sorted by path: the order in which a folder lists them
// differs from one machine to the next. Links are not followed, unreadable folders are passed over and
// counted.
inline std::vector<std::filesystem::path> files_below(std::filesystem::path const& folder,
                                                      std::uintmax_t largest, std::size_t& unreadable) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  if (error)
    throw std::runtime_error("cannot read the folder " + folder.string() + ": " + error.message());
  while (at != fs::recursive_directory_iterator()) {
    std::error_code ignored;
    auto const status = at->symlink_status(ignored);
    auto const name = at->path().filename().string();
    if (fs::is_directory(status)) {
      if (is_skipped_folder(name)) {
        at.disable_recursion_pending();
      } else if (fs::directory_iterator(at->path(), ignored); ignored) {
        at.disable_recursion_pending();
        ++unreadable;
      }
    } else if (fs::is_regular_file(status) && !name.starts_with('.')) {
      auto const size = at->file_size(ignored);
      if (!ignored && size > 0 && size <= largest) found.push_back(at->path());
    }
    at.increment(error);
    if (error)
      throw std::runtime_error("cannot read the folder " + folder.string() + ": " + error.message());
  }
  std::ranges::sort(found, {}, [](fs::path const& path) { return path.generic_string(); });
  return found;
}

}  // namespace detail

// A file with a NUL byte in its first kilobytes is no text.
inline bool is_text(std::span<token const> bytes) {
  auto const start = bytes.first(std::min<std::size_t>(bytes.size(), 8192));
  return std::ranges::find(start, token{0}) == start.end();
}

// The entropy of single bytes, in nats per byte: the loss of a model that knows how often each byte
// occurs and nothing else. 0 for no text.
inline double unigram_entropy(std::span<token const> text) {
  std::array<std::size_t, vocabulary> counts{};
  for (token const t : text) ++counts[t];
  double entropy = 0;
  for (std::size_t const count : counts) {
    if (count == 0) continue;
    double const p = static_cast<double>(count) / static_cast<double>(text.size());
    entropy -= p * std::log(p);
  }
  return entropy;
}

// A text, its last tenth set aside for validation.
class corpus {
 public:
  explicit corpus(std::vector<token> text, std::size_t unreadable = 0)
      : text_(std::move(text)), unreadable_(unreadable) {}

  // Files and folders that were passed over because they could not be read.
  std::size_t unreadable() const { return unreadable_; }

  std::span<token const> all() const { return text_; }
  std::span<token const> training() const { return all().first(text_.size() - text_.size() / 10); }
  std::span<token const> validation() const { return all().last(text_.size() / 10); }

  // Throws std::runtime_error unless both parts have a sequence of `context` tokens and one that
  // follows.
  void require_context(int context) const {
    auto const least = static_cast<std::size_t>(context) + 1;
    if (validation().size() < least) {
      throw std::runtime_error("a text of " + std::to_string(text_.size())
                               + " bytes is too short: its last tenth must hold a context of "
                               + std::to_string(context) + " tokens, which takes at least "
                               + std::to_string(least * 10) + " bytes");
    }
  }

 private:
  std::vector<token> text_;
  std::size_t unreadable_;
};

// Reads a file, or the text files below a folder in the order of their paths: those with a NUL byte,
// hidden ones and build folders are left out, those that cannot be read are counted. Throws
// std::runtime_error, saying what is wrong, if there is no text.
inline corpus read_corpus(std::filesystem::path const& path, corpus_options const& options = {}) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto const status = fs::status(path, error);
  if (!fs::exists(status)) throw std::runtime_error("there is no file or folder " + path.string());
  std::vector<token> text;
  std::size_t unreadable = 0;
  if (fs::is_directory(status)) {
    for (auto const& file : detail::files_below(path, options.largest_file, unreadable)) {
      std::vector<token> bytes;
      try {
        bytes = detail::read_file(file);
      } catch (std::runtime_error const&) {
        ++unreadable;
      }
      if (!is_text(bytes)) continue;
      if (text.size() + bytes.size() > options.most) break;
      text.insert(text.end(), bytes.begin(), bytes.end());
    }
    if (text.empty()) throw std::runtime_error("there are no text files in " + path.string());
  } else {
    if (!fs::is_regular_file(status))
      throw std::runtime_error(path.string() + " is neither a file nor a folder");
    text = detail::read_file(path);
    if (text.empty()) throw std::runtime_error(path.string() + " is empty");
    if (!is_text(text))
      throw std::runtime_error(path.string() + " is not a text file: it has NUL bytes");
  }
  return corpus(std::move(text), unreadable);
}

}  // namespace gpt
