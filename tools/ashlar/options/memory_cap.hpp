// The memory that the tool may take: it refuses at once what needs more.
#pragma once

#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/options.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace tool {

// --memory-cap, by default half of the machine's memory.
void add_memory_cap(CLI::App& command);

// Throws usage_error, saying what would be needed, unless this many passes can be made, lowered, proved
// and simulated within the cap. `what` makes them: "8 devices with 32 micro-batches".
void must_fit_in_memory(std::string const& what, double passes);

// Does so for `count` other parts of `bytes_each` bytes.
void must_fit_in_memory(std::string const& what, char const* parts, double count, double bytes_each);

// Counts a schedule over these stages with the messages at barriers of shards: one for each two shards
// of a layer and each micro-batch.
void must_fit_in_memory(std::string const& what, ashlar::stage_graph const& graph, double passes,
                        double micro_batches);
inline void must_fit_in_memory(std::string const& what, ashlar::schedule const& s) {
  must_fit_in_memory(what, s.graph, static_cast<double>(pass_count(s)), s.micro_batch_count());
}

// Lets the system refuse what goes beyond the cap, too: std::bad_alloc is thrown then.
void hold_memory_cap();

// The size of the largest file that is read; its contents take more memory than its text.
std::size_t most_bytes_of_file();
std::string words_of_cap();

}  // namespace tool
