// The options that say how many bytes a stage takes of its device.
#pragma once

#include <ashlar/model/memory_model.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

// A number of bytes (B or nothing), KiB, MiB, GiB or TiB: 512, 24GiB, 79.5GiB. Throws usage_error,
// naming the option.
ashlar::byte_count read_bytes(std::string const& option, std::string const& text);

// Prints it in the largest of these units that leaves a whole number: 24GiB, 1000B.
std::string text_of_bytes(ashlar::byte_count bytes);

CLI::Option* add_bytes(CLI::App& command, char const* flag, ashlar::byte_count& value,
                       std::string const& help);

// Adds the options for what a p-th of the model keeps, and what lies there all the time. Returns them.
std::vector<CLI::Option*> add_stage_bytes(CLI::App& command, ashlar::stage_memory& bytes);

// Prints it rounded, in the largest unit of which there is one: "84.13GiB".
std::string rounded_bytes(ashlar::byte_count bytes);

}  // namespace tool
