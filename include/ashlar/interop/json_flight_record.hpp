// Reads what PyTorch's flight recorder wrote for one rank: JSON, or a pickle.
#pragma once

#include <ashlar/interop/json_text.hpp>
#include <ashlar/record/rank_record.hpp>

#include <string>
#include <string_view>

namespace ashlar {

// Reads a dump of version 2, as _dump_fr_trace, _dump_nccl_trace and their _json forms give it and as
// ProcessGroupNCCL writes it to comm_lib_trace_rank_N on a timeout. `rank` is that of the file: a dump
// has none. An operation keeps two lines of the program: where the distributed calls were made, and the
// first one outside of torch. Throws input_error with the place and the key. O(bytes).
rank_record read_flight_record(std::string_view bytes, int rank, std::string const& path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_flight_record.ipp>
#endif
