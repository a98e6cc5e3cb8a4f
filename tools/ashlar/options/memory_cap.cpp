#include "options/memory_cap.hpp"

#include "command.hpp"
#include "options/byte_options.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

constexpr double bytes_a_pass =
    512;  // measured with all that simulate tells: 450 for 1F1B, 370 for V-Half
constexpr double bytes_a_message = 512;  // at a barrier: of its two instructions
constexpr ashlar::byte_count bytes_of_program = 32 << 20, least_data = 64 << 20;
// Memory for a byte of text; what is made of it is counted by itself. A CSV of a program has up to 64
// characters for each pass, so that a file written within a cap can be read within it.
constexpr std::size_t bytes_a_byte = 8;

ashlar::byte_count half_of_memory() {
  return static_cast<ashlar::byte_count>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

ashlar::byte_count cap = half_of_memory();

std::string in_gib(double bytes) { return fmt::format("{:.3g} GiB", bytes / (1 << 30)); }

}  // namespace

void add_memory_cap(CLI::App& command) {
  add_bytes(command, "--memory-cap", cap,
            "the most memory to use; sizes that need more are refused (default: half of the machine's)");
}

void must_fit_in_memory(std::string const& what, double passes) {
  must_fit_in_memory(what, "passes", passes, bytes_a_pass);
}

void must_fit_in_memory(std::string const& what, char const* parts, double count, double bytes_each) {
  double const needed = count * bytes_each;
  if (needed > static_cast<double>(cap))
    throw usage_error(fmt::format("{} make {:.0f} {} or more, which take about {} of memory; {}", what,
                                  count, parts, in_gib(needed), words_of_cap()));
}

void must_fit_in_memory(std::string const& what, ashlar::stage_graph const& graph, double passes,
                        double micro_batches) {
  must_fit_in_memory(what, passes);
  if (!graph.has_shards()) return;
  double messages = 0;
  for (int stage = 0; stage < graph.count(); ++stage)
    messages += static_cast<double>(graph.shards_with(stage).size()) * micro_batches;
  must_fit_in_memory(what, "messages between shards", messages, bytes_a_message);
}

void hold_memory_cap() {
#ifndef ASHLAR_SANITIZED  // sanitizers take much more, most of which they never touch
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) != 0) return;
  auto const most = static_cast<rlim_t>(std::max(cap - bytes_of_program, least_data));
  data.rlim_cur = std::min(most, data.rlim_max);
  setrlimit(RLIMIT_DATA, &data);
#endif
}

std::size_t most_bytes_of_file() { return static_cast<std::size_t>(cap) / bytes_a_byte; }

std::string words_of_cap() {
  return fmt::format("--memory-cap is {}{}", in_gib(static_cast<double>(cap)),
                     cap == half_of_memory() ? ", half of this machine's" : "");
}

}  // namespace tool
