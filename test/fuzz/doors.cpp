// Calls public functions of the library with arbitrary values: a program knocks at one group of the
// doors of test/doors. The fuzzer chooses what a random number chooses in
// test/property/extreme_doors.cpp.
#include ASHLAR_DOOR_FILE

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  random_case::dice d(data, size);
  doors::ASHLAR_DOOR(d);
  return 0;
}
