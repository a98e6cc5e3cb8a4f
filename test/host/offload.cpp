// A program that offloads holds as much as is proved when it runs, on the device and on the host.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

using namespace ashlar;

namespace {

struct held_bytes {
  std::int64_t on_device = 0, on_host = 0;

  friend bool operator==(held_bytes const&, held_bytes const&) = default;
};

// Bytes by the proof: every slot is as large as the largest value in it.
held_bytes proved_bytes(program const& p, conformance::network const& w) {
  held_bytes sum;
  program_view const view = p.view();
  for (int d = 0; d < p.device_count(); ++d) {
    auto const sizes = slot_sizes(view, d, [&](value_key key) {
      return layout_on(view, 0, key, [&](value_key k) { return w.layout(k); }).bytes;
    });
    for (std::size_t slot = 0; slot < sizes.size(); ++slot)
      (is_on_host(view.slots_of(d)[slot]) ? sum.on_host : sum.on_device) += (sizes[slot] + 63) / 64 * 64;
  }
  return sum;
}

}  // namespace

TEST_CASE("host: what is allocated is what is proved, and what leaves makes it less on the device") {
  schedule const s = catalog::find("gpipe")->make({devices{3}, micro_batches{6}});
  offload_options away{.forwards = {}, .copy = {1}};
  for (int stage : {0, 1, 2})
    for (int k : {1, 2, 3, 4}) away.forwards.push_back({pass_kind::forward, stage, k});
  program const stays = lower(s), goes = lower(s, {.offload = away});
  auto const allocated = [](program const& p) {
    conformance::network w(p);
    host::runtime runtime(p, w);
    runtime.run();
    held_bytes const found{static_cast<std::int64_t>(runtime.slot_bytes()),
                           static_cast<std::int64_t>(runtime.host_slot_bytes())};
    held_bytes const proved = proved_bytes(p, w);
    // The last slot of each device is not rounded up.
    CHECK((found.on_host <= proved.on_host && found.on_host >= proved.on_host - 3 * 63));
    CHECK((found.on_device <= proved.on_device && found.on_device >= proved.on_device - 3 * 63));
    return found;
  };
  held_bytes const before = allocated(stays), after = allocated(goes);
  CHECK((before.on_host == 0 && after.on_host > 0));
  CHECK(after.on_device < before.on_device);
}

TEST_CASE("host: by the times of a run no device holds more than is proved") {
  schedule const s = catalog::find("gpipe")->make({devices{3}, micro_batches{6}});
  offload_options away{.forwards = {}, .copy = {1}};
  for (int k : {1, 2, 3, 4}) away.forwards.push_back({pass_kind::forward, 0, k});
  program const p = lower(s, {.offload = away});
  conformance::network w(p);
  w.delays = 3;
  host::runtime runtime(p, w, {.record = true});
  simulation_options o;
  o.memory.stages = {{.stash = 1}};
  for (int step = 0; step < 5; ++step) {
    runtime.run();
    timeline line;
    for (instruction_time const& t : runtime.times()) {
      line.timed.push_back({.start = t.begin, .end = t.end});
      line.makespan = std::max(line.makespan, t.end);
    }
    std::vector<device_memory> const measured = memory_over_time(p, line, o);
    CHECK((measured[0].peak <= measured[0].reserved && measured[0].reserved < 6));
    CHECK((measured[0].host_peak <= measured[0].host_reserved && measured[0].host_peak > 0));
    CHECK(measured[0].host_reserved <= 4);
    CHECK((measured[1].peak == 6 && measured[1].host_peak == 0));
    w.take();
  }
}

TEST_CASE("host: what leaves may lie in files: the same bits, as many bytes, and no file is left") {
  namespace fs = std::filesystem;
  fs::path const folder = fs::temp_directory_path() / ("ashlar-pool-" + std::to_string(getpid()));
  fs::create_directories(folder);
  for (conformance::sample_program const& sample : conformance::programs_that_offload()) {
    program const& p = sample.program;
    if (p.device_count() > 3) continue;
    CAPTURE(sample.name);
    conformance::network in_files(p), in_memory(p);
    host::runtime filed(p, in_files, {.offload_folder = folder.string()});
    host::runtime plain(p, in_memory);
    CHECK((filed.host_slot_bytes() == plain.host_slot_bytes() && filed.host_slot_bytes() > 0));
    for (int step = 0; step < 2; ++step) {
      filed.run();
      plain.run();
      CHECK(in_files.take() == in_memory.take());
    }
    CHECK(fs::is_empty(folder));  // nameless from the start
    std::ifstream maps("/proc/self/maps");
    std::string const all((std::istreambuf_iterator<char>(maps)), {});
    CHECK(all.find(folder.string() + "/ashlar-offload-") != std::string::npos);
  }
  fs::remove_all(folder);
}

TEST_CASE("host: a folder that takes no file is named before the first step, and by whom it is needed") {
  schedule const s = catalog::find("gpipe")->make({devices{2}, micro_batches{3}});
  program const stays = lower(s),
                goes = lower(s, {.offload = {.forwards = {{pass_kind::forward, 1, 1}}, .copy = {1}}});
  conformance::network w(goes), v(stays);
  for (char const* const folder : {"/nowhere/at/all", "/proc"}) try {
      host::runtime const runtime(goes, w, {.offload_folder = folder});
      FAIL("nothing was thrown");
    } catch (std::system_error const& e) {
      std::string const what = e.what();
      CHECK(what.find("the folder '" + std::string(folder) + "' cannot take the ") == 0);
      CHECK(what.find("bytes that device 1 offloads") != std::string::npos);
    }
  // A program that does not offload asks for no folder.
  host::runtime(stays, v, {.offload_folder = "/nowhere/at/all"}).run();
}

TEST_CASE("host: a file's memory is aligned as slots need it, and zero") {
  for (std::size_t const alignment : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 16}) {
    host::file_memory const memory("/tmp", "device 0", 1000, alignment);
    CHECK(memory.view().size() == 1000);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.view().data()) % alignment == 0);
    CHECK(std::all_of(memory.view().begin(), memory.view().end(),
                      [](std::byte b) { return b == std::byte{0}; }));
  }
}
