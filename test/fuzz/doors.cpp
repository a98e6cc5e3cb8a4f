// Public functions of the library with arbitrary values: the doors of test/doors.hpp, of which a program
// knocks at one. The fuzzer chooses what a random number chooses in test/property/extreme_doors.cpp.
#include "doors.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  random_case::dice d(data, size);
  doors::ASHLAR_DOOR(d);
  return 0;
}
