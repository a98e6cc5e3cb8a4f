// Reads any text as JSON of a schedule or a block, of measured costs, of a timeline, or of a data sheet;
// and as a dump of a flight recorder, which may be a pickle. A value that is read can be checked and
// written; text that cannot be used is refused as such, and by nothing else.
#include <ashlar/block/check.hpp>
#include <ashlar/cost/cluster/json_machine.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/json_costs.hpp>
#include <ashlar/interop/json_flight_record.hpp>
#include <ashlar/interop/json_profile.hpp>
#include <ashlar/interop/json_schedule.hpp>
#include <ashlar/interop/json_trace.hpp>
#include <ashlar/record/hang.hpp>
#include <ashlar/schedule/check.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (ashlar::input_error const&) {
  }
}

void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text(reinterpret_cast<char const*>(data), size);
  try_to([&] {
    ashlar::json_schedule const read = ashlar::read_json_schedule(text, "any.json");
    must(read.scale.ticks_per_unit >= 1);
    if (read.block) {
      check(*read.block);
    } else if (check(read.schedule).ok()) {
      std::string const written = to_json(read.schedule, "").dump();
      must(ashlar::read_json_schedule(written).schedule.order == read.schedule.order);
    }
  });
  try_to([&] {
    ashlar::read_json_costs(text).cost.passes.for_each([](int, int, ashlar::stage_cost const& c) {
      must(c.forward >= 0 && c.backward_input >= 0 && c.backward_weight >= 0);
    });
  });
  try_to([&] {
    ashlar::json_trace const read = ashlar::read_json_trace(text);
    for (ashlar::trace_event const& e : read.events)
      must(e.start <= e.end && e.device >= 0 && e.device < read.device_count);
  });
  try_to([&] {
    std::vector<ashlar::json_text> const one{ashlar::parse_json(text)};
    if (!ashlar::is_json_profile(one.front())) return;
    must(ashlar::read_json_costs(ashlar::costs_of_profiles(one).costs.dump()).cost.passes.stages() >= 1);
    for (ashlar::trace_event const& e : ashlar::timeline_of_profiles(one).events)
      must(e.start <= e.end && e.device == 0);
  });
  try_to([&] {
    std::vector<ashlar::rank_record> const ranks{ashlar::read_flight_record(text, 0),
                                                 ashlar::read_flight_record(text, 1)};
    ashlar::matched_record const record = ashlar::matched(ranks);
    ashlar::hang const why = ashlar::find_hang(record);
    must(why.kind != ashlar::hang_kind::none || why.chain.empty());
    for (ashlar::awaited_operation const& one : why.chain) record.at(one.waiting);
  });
  try_to([&] { must(ashlar::read_json_machine(text).machine.per_node >= 1); });
  try_to([&] { must(ashlar::read_json_cluster(text).nodes >= 1); });
  return 0;
}
