#include "memory_cap.hpp"

#include "byte_options.hpp"
#include "command.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstddef>

namespace tool {

namespace {

constexpr double bytes_a_pass =
    512;  // measured with all that simulate tells: 450 for 1F1B, 370 for V-Half
constexpr std::size_t bytes_a_byte = 64;  // of a CSV, whose tokens have about seven

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
  double const needed = passes * bytes_a_pass;
  if (needed > static_cast<double>(cap))
    throw usage_error(fmt::format("{} make {:.0f} passes or more, which take about {} of memory; {}",
                                  what, passes, in_gib(needed), words_of_cap()));
}

std::size_t most_bytes_of_file() { return static_cast<std::size_t>(cap) / bytes_a_byte; }

std::string words_of_cap() {
  return fmt::format("--memory-cap is {}{}", in_gib(static_cast<double>(cap)),
                     cap == half_of_memory() ? ", half of this machine's" : "");
}

}  // namespace tool
