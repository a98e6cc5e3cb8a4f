// Reads Python's pickles of plain data, without Python.
#pragma once

#include <ashlar/interop/json_text.hpp>

#include <string>
#include <string_view>

namespace ashlar {

// Whether it begins as a pickle of protocol 2 or later.
bool is_pickle(std::string_view bytes);

// Reads a pickle of None, booleans, numbers, texts, lists, tuples, sets and dicts; tuples and sets
// become lists, and keys of dicts that are numbers become texts. Never runs anything: an opcode that
// would import or call is refused. Shared parts are copied, up to 16 values for each byte, where 16
// letters count as a value; and nothing may be deeper than 100. Its values have no places in a text.
// Throws input_error with the offset of the byte. O(bytes).
json_text parse_pickle(std::string_view bytes, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_pickle.ipp>
#endif
