// Any text as one of the tool's files: costs and sizes by stage, a model and a cluster. What cannot be
// used is refused as a wrong use of the command, and by nothing else.
#include "command.hpp"
#include "per_stage.hpp"
#include "tradeoff_study.hpp"
#include <ashlar/core/ticks.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

std::string file_with(char const* name, std::uint8_t const* data, std::size_t size) {
  static std::filesystem::path const folder =
      std::filesystem::temp_directory_path() / ("ashlar_fuzz_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string const path = (folder / name).string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char const*>(data), static_cast<std::streamsize>(size));
  return path;
}

template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (tool::usage_error const&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const path = file_with("whole", data, size);
  try_to([&] {
    for (ashlar::stage_cost const& c : tool::read_per_stage(path))
      if (c.forward < 1 || c.forward > ashlar::max_tick) std::abort();
  });
  try_to([&] {
    for (ashlar::stage_memory const& m : tool::read_per_stage_bytes(path))
      if (m.stash < 1 || m.stash_left > m.stash || m.resident() < 0) std::abort();
  });
  // Two objects, apart by a line of one dash.
  std::string const text(reinterpret_cast<char const*>(data), size);
  std::size_t const cut = text.find("\n-\n");
  if (cut == std::string::npos) return 0;
  std::string const model = file_with("model", data, cut),
                    cluster = file_with("cluster", data + cut + 3, size - cut - 3);
  try_to([&] { tool::read_study(model, cluster); });
  return 0;
}
