// Reads any text as a CSV of PyTorch's, without and with communication. An accepted text is a valid
// value; a refused one has a problem with words.
#include <ashlar/check/check.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// The first byte chooses the options.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ashlar;
  if (size == 0) return 0;
  std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
  csv_options const options{.most_problems = 1 + static_cast<std::size_t>(data[0] / 2 % 4),
                            .dialect = static_cast<csv_dialect>(data[0] / 8 % 5),
                            .lanes = static_cast<transfer_lanes>(data[0] / 40 % 4)};
  csv_schedule const s = read_pytorch_csv(text, options);
  demand(s.value.has_value() == s.problems.empty());
  if (s.value) {
    demand(is_valid(*s.value));
    // A device without passes, whose line is all idle slots, cannot be written without them.
    bool const all_work = std::none_of(s.value->order.begin(), s.value->order.end(),
                                       [](auto const& order) { return order.empty(); });
    if (all_work) demand(read_pytorch_csv(pytorch_csv(*s.value)).value == s.value);
  }
  csv_program const p = read_pytorch_comms(text, options);
  demand(p.value.has_value() == p.problems.empty());
  if (p.value) demand(is_valid(*p.value));
  for (auto const* problems : {&s.problems, &p.problems})
    for (csv_problem const& problem : *problems) demand(!problem.message.empty());
  return 0;
}
