// Values that leave for the hosts of devices, from end to end: search, simulate, show, train.
#include "tool/refusals.hpp"
#include "tool/searching.hpp"
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

std::string const even_thirds_in_ms = " --forward 20ms --backward-input 20ms --backward-weight 20ms";
std::string const offload_question =
    "-p 3 -m 4 --placement linear --budget 2000 --stash-bytes 1GiB" + even_thirds_in_ms;

}  // namespace

TEST_CASE("search offloads only when asked, and is no worse then") {
  long before = found(offload_question + " --limit-bytes 2GiB")["reached"];
  for (std::string const bandwidth : {"10GB/s", "60GB/s", "200GB/s"}) {
    nlohmann::json const s =
        found(offload_question + " --limit-bytes 2GiB --host-bandwidth " + bandwidth);
    CHECK(s["reached"].get<long>() <= before);
    CHECK(s["reached"].get<long>() >= s["bound"].get<long>());
    for (auto const& d : s["memory"]) CHECK(d["peak"].get<long>() <= 2L << 30);
    before = s["reached"];
  }
  CHECK(!found(offload_question + " --limit-bytes 2GiB --host-bandwidth 200GB/s")["offload"].empty());
  tool_result const text =
      run_tool("search " + offload_question + " --limit-bytes 2GiB --host-bandwidth 60GB/s");
  CHECK(contains(text.out, "however much memory there is"));
  CHECK(contains(text.out, "on the host"));
}

TEST_CASE("simulate times copies over the link, and counts what is on the host") {
  std::string const line = "simulate gpipe -p 2 -m 6 --as json --stash-bytes 1GiB" + even_thirds_in_ms;
  auto const simulated = [&](std::string const& more) {
    return nlohmann::json::parse(run_tool(line + more).out);
  };
  nlohmann::json const plain = simulated(""), away = simulated(" --offload 50 --host-bandwidth 100GB/s");
  CHECK(away["makespan"] == plain["makespan"]);
  CHECK(away["by_device"][0]["memory"]["peak"].get<long>()
        < plain["by_device"][0]["memory"]["peak"].get<long>());
  CHECK(away["by_device"][0]["host_memory"]["peak"].get<long>() > 0);
  CHECK(!plain["by_device"][0].contains("host_memory"));
  // With half of the bandwidth fewer leave, or they are there for longer.
  nlohmann::json const shared = simulated(" --offload 50 --host-bandwidth 100GB/s --host-shared-by 2");
  CHECK(shared["makespan"] == plain["makespan"]);
  CHECK(shared != away);
  // With slack, copies are planned for a slower link: other values leave, or stay away for less.
  nlohmann::json const roomy = simulated(" --offload 50 --host-bandwidth 100GB/s --host-slack 10ms");
  CHECK(roomy["makespan"] == plain["makespan"]);
  CHECK(roomy != away);
}

TEST_CASE("show counts copies and slots on the host") {
  tool_result const r = run_tool("show gpipe -p 2 -m 4 --offload 50");
  CHECK(contains(r.out, "stash on the host slots"));
  CHECK(contains(r.out, "copies to and from hosts"));
  // Fewer values can leave over a slow link and come back in time.
  std::string const link = "show gpipe -p 2 -m 4 --offload 100 --stash-bytes 1GiB" + even_thirds_in_ms;
  auto const copies = [&](std::string const& bandwidth) {
    std::string const out = run_tool(link + " --host-bandwidth " + bandwidth).out;
    auto const at = out.find(" copies to and from hosts");
    REQUIRE(at != std::string::npos);
    return std::stoi(out.substr(out.rfind(' ', at - 1) + 1));
  };
  CHECK(copies("1000GB/s") == 16);
  CHECK(copies("20GB/s") < 16);
  CHECK(copies("20GB/s") > 0);
}

TEST_CASE("train gives the bits of the sequential model when stashes and checkpoints leave") {
  using namespace training_test;
  for (std::string const how : {"1f1b -p 2 -m 4 --offload 100", "1f1b-recompute -p 2 -m 3 --offload 50",
                                "v-half -p 2 -m 4 --offload 60 --data-ranks 2 --sharding full"}) {
    tool_result const r = run_tool("train --steps 2 --verify --schedule " + how + tiny + corpus());
    CAPTURE(how);
    CAPTURE(r.err);
    CHECK(r.code == 0);
    CHECK(contains(r.out, "leave for the host and come back"));
    CHECK(contains(r.out, "bitwise equal to the sequential model's"));
  }
}

TEST_CASE("train says what passes keep and send at most, on devices and hosts: no more than is proved") {
  using namespace training_test;
  auto const held_by = [](std::string const& how) {
    tool_result const r = run_tool("train --steps 2 --schedule gpipe -p 2 -m 4" + how + tiny + corpus());
    CHECK(r.code == 0);
    return peaks_in(r.out);
  };
  CHECK(!held_by("").found);
  peaks const away = held_by(" --offload 50");
  REQUIRE(away.found);
  CHECK((away.measured_on_devices > 0 && away.measured_on_devices <= away.on_devices));
  CHECK((away.measured_on_hosts > 0 && away.measured_on_hosts <= away.on_hosts));
  // The proved peaks depend on the program alone.
  peaks const ranks = held_by(" --offload 50 --data-ranks 2");
  CHECK((ranks.on_devices == 2 * away.on_devices && ranks.on_hosts == 2 * away.on_hosts));
}

TEST_CASE("train keeps what leaves in files of a folder, and says which folder cannot take it") {
  using namespace training_test;
  std::string const folder = fresh_folder("away"), here = fresh_folder("kept"),
                    there = fresh_folder("filed");
  std::filesystem::create_directories(folder);
  std::string const line =
      "train --steps 2 --verify --schedule 1f1b -p 2 -m 4 --offload 100" + tiny + corpus();
  REQUIRE(run_tool(line + " --save " + here).code == 0);
  tool_result const filed = run_tool(line + " --save " + there + " --offload-folder " + folder);
  CHECK(filed.code == 0);
  CHECK(contains(filed.out, "bitwise equal to the sequential model's"));
  CHECK(learned_after(there, 2) == learned_after(here, 2));
  CHECK(std::filesystem::is_empty(folder));

  tool_result const nowhere = run_tool(line + " --offload-folder " + folder + "/nowhere");
  CHECK(nowhere.code == 2);
  CHECK(contains(nowhere.err, "the folder '" + folder + "/nowhere' cannot take the "));
  CHECK(contains(nowhere.err, "bytes that device 0 offloads"));
  CHECK(!contains(nowhere.out, "1/2"));
  // One disk has too little room, and one is read only: as root, too.
  std::string const disk = fresh_folder("disk"), told = (scratch() / "disk.txt").string();
  std::filesystem::create_directories(disk);
  for (std::string const how : {"size=4k", "ro"}) {
    std::string const command = "unshare -m sh -c 'mount -t tmpfs -o " + how + " tmpfs \"" + disk
                                + "\" || exit 99; " ASHLAR_TOOL " " + line + " --offload-folder " + disk
                                + "' >'" + told + "' 2>&1";
    int const code = WEXITSTATUS(std::system(command.c_str()));
    if (code == 99 || code == 1) continue;  // no namespaces here
    CAPTURE(how);
    CHECK(code == 2);
    CHECK(contains(content(told), "the folder '" + disk + "' cannot take the "));
    CHECK(contains(content(told), how == "ro" ? "Read-only file system" : "No space left on device"));
    CHECK(!contains(content(told), "1/2"));
  }
}

TEST_CASE("offload is refused where it has no effect or no meaning") {
  all_refused({
      {"simulate 1f1b --offload 50", "--offload has no effect without --stash-bytes"},
      {"simulate 1f1b --host-bandwidth 3", "--host-bandwidth has no effect without --offload"},
      {"simulate 1f1b --stash-bytes 1GiB --offload 50 --host-shared-by 2",
       "--host-shared-by has no effect without --host-bandwidth"},
      {"simulate 1f1b --stash-bytes 1GiB --offload 50 --host-bandwidth 3GB/s",
       "needs times with a unit"},
      {"simulate 1f1b --stash-bytes 1GiB --offload 50 --host-bandwidth fast", "not 'fast'"},
      {"simulate 1f1b --stash-bytes 1GiB --offload 50 --host-bandwidth 1e-10" + even_thirds_in_ms,
       "fewer bytes per tick than can be counted"},
      {"simulate 1f1b --stash-bytes 1GiB --offload 50 --host-bandwidth 1", "--offload has no effect"},
      {"simulate inference --stash-bytes 1GiB --offload 50", "without backward passes"},
      {"show 1f1b --offload 101", "--offload"},
      {"simulate 1f1b --stash-bytes 1GiB --offload 50 --host-slack 2",
       "--host-slack has no effect without --host-bandwidth"},
      {"search -p 2 -m 2 --host-slack 3", "--host-slack has no effect without --host-bandwidth"},
      {"show 1f1b --host-bandwidth 3", "--host-bandwidth has no effect without --offload"},
      {"show 1f1b --offload 50 --host-bandwidth 3",
       "--host-bandwidth has no effect without --stash-bytes"},
      {"show 1f1b --offload 50 --stash-bytes 1GiB",
       "--stash-bytes has no effect without --host-bandwidth"},
      {"search -p 2 -m 2 --host-bandwidth 3", "--host-bandwidth needs --limit-bytes"},
      {"search -p 2 -m 2 --host-shared-by 3", "--host-shared-by has no effect without --host-bandwidth"},
      {"search --as svg " + offload_question + " --limit-bytes 2GiB --host-bandwidth 60GB/s",
       "--host-bandwidth has --as text and json"},
      {"train --offload-folder /tmp", "--offload-folder has no effect without --offload"},
      {"train --backend mpi --offload 50 --offload-folder /tmp",
       "--offload-folder has no effect without --backend host"},
      {"train --offload 50 --adapt 2", "--offload and --adapt do not go together"},
  });
}
