// Facts about the training program, as arguments of Megatron-LM and fields of Megatron-Bridge.
#pragma once

#include "predict/megatron_command.hpp"
#include "predict/report.hpp"

#include <string>
#include <vector>

namespace tool {

// Reads the program, as --stack has it. Megatron-Bridge is known by its fields, or by gradients that are
// summed in 16 bits, as in its recipes.
std::string program_of_megatron(megatron_command& arguments);

// Facts depend on these parts of a run.
struct facts_of_run {
  bool has_experts = false, dispatches = false;  // dispatches: tokens go to other ranks
  bool has_chunks = false, has_fp8 = false;
};

// Reads facts as --fact has them. Absent arguments of Megatron-LM say the defaults of megatron-core
// 0.16.1, absent fields say nothing. Adds a note where the program does what no fact says.
std::string megatron_facts(megatron_command& arguments, facts_of_run const& run,
                           std::vector<std::string>& notes);

struct named_value {
  std::string section, name, value;  // no section: an argument; no value: a flag
};

// Arguments without the two hyphens, for the facts of a run that are no defaults of Megatron-LM.
std::vector<named_value> arguments_of_facts(prediction const& p);

// Fields of Megatron-Bridge's ConfigContainer for all facts of a run.
std::vector<named_value> fields_of_facts(prediction const& p);

// Says how Megatron-Core differs from a fact of the run that neither of these says; empty if it does
// not.
std::string done_in_place_of_facts(prediction const& p, bool as_fields);

}  // namespace tool
