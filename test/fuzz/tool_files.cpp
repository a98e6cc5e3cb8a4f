// Reads any text as one of the tool's files: costs and sizes by stage, measured costs, schedules and
// blocks, graphs of operators, models, clusters, timelines, a checkpoint's manifest. A text that cannot
// be used is refused as a wrong use of the command or by the rule that it breaks, and by nothing else.
#include "command.hpp"
#include "files/costs_file.hpp"
#include "files/operator_files.hpp"
#include "files/schedule_files.hpp"
#include "files/trace_file.hpp"
#include "options/per_stage.hpp"
#include "predict/constants_file.hpp"
#include "predict/framework_files.hpp"
#include "predict/machines.hpp"
#include "predict/measured_stages.hpp"
#include "predict/models.hpp"
#include "predict/recomputation_choice.hpp"
#include "predict/runs_file.hpp"
#include "report/tradeoff_study.hpp"
#include "train/checkpoint.hpp"
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>

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
  } catch (ashlar::violation const&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const path = file_with("whole", data, size);
  try_to([&] { tool::read_passes(path); });
  try_to([&] {
    for (ashlar::stage_memory const& m : tool::read_per_stage_bytes(path))
      if (m.stash < 1 || m.stash_left > m.stash || m.resident() < 0) std::abort();
  });
  try_to([&] { tool::read_costs(path); });
  try_to([&] {
    if (!check(tool::read_schedule(path, 0, {}).schedule).ok()) std::abort();
  });
  try_to([&] { tool::read_operators(path); });
  try_to([&] { tool::read_cluster(path); });
  try_to([&] { tool::read_described_model(path); });
  try_to([&] { tool::read_megatron(path, {.devices = 8}); });
  try_to([&] { tool::read_torchtitan(path, {.devices = 8}); });
  try_to([&] { tool::read_deepspeed(path, {.devices = 8}); });
  try_to([&] { tool::read_constants(path); });
  try_to([&] { tool::read_runs(path, tool::own_constants()); });
  try_to([&] { tool::read_trace(path); });
  try_to([&] {
    ashlar::cost::question asked;
    tool::read_measured_stages(path, asked);
  });
  try_to([&] {
    tool::prediction asked;
    asked.asked.model = tool::read_described_model("deepseek-v3").shape;
    tool::choose_recomputation(path, asked);
  });
  std::string const manifest = file_with("manifest.json", data, size);
  try_to([&] { tool::read_checkpoint(std::filesystem::path(manifest).parent_path()); });
  // Two objects, apart by a line of one dash.
  std::string const text(reinterpret_cast<char const*>(data), size);
  std::size_t const cut = text.find("\n-\n");
  if (cut == std::string::npos) return 0;
  std::string const model = file_with("model", data, cut),
                    cluster = file_with("cluster", data + cut + 3, size - cut - 3);
  try_to([&] { tool::read_study(model, cluster); });
  return 0;
}
