// No option is without effect: it changes what a command does, or is refused.
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

struct options_of_line {
  std::string line;
  std::vector<std::string> options;
};

std::string one_schedule() {
  return scratch_file("one.json", run_tool("emit zb-h1 -p 2 -m 4 --as json").out);
}

}  // namespace

TEST_CASE("an option changes what is written, or is refused as one without effect") {
  std::vector<std::string> const parameters = {
      "-v 3", "--waves 2", "--routes 4", "--rounds 2", "--sequence-chunks 4", "--unit-junction figure"};
  std::vector<std::string> const of_costs = {
      "--forward 3",  "--backward-input 3",      "--backward-weight 3",
      "--transfer 1", "--speeds 100,50,100,100", "--overlapped 1"};
  std::vector<std::string> const of_sharing = {"--data-ranks 2", "--weight-buffers 2",
                                               "--optimizer-step at-end"};
  std::vector<std::string> const of_links = {"--latency 1",
                                             "--bandwidth 2",
                                             "--inter-latency 3",
                                             "--inter-bandwidth 2",
                                             "--node-size 2",
                                             "--bytes 8",
                                             "--stash-bytes 8",
                                             "--weight-bytes 8",
                                             "--optimizer-bytes 8",
                                             "--gradient-bytes 8",
                                             "--weight-stash-bytes 8",
                                             "--sequence-state-bytes 8",
                                             "--optimizer-ticks 5",
                                             "--ring-latency 4",
                                             "--ring-bandwidth 1",
                                             "--tie-embeddings --tied-weight-bytes 4"};
  std::vector<options_of_line> lines;
  for (std::string const name : {"1f1b", "dualpipe", "inference"}) {
    lines.push_back({"show " + name, parameters});
    lines.push_back({"show " + name, of_costs});
    lines.push_back({"show " + name, of_sharing});
    lines.push_back({"emit " + name + " --as pytorch", of_costs});
    lines.push_back({"simulate " + name, of_links});
  }
  lines.push_back({"show v-half --data-ranks 2 --sharding full", of_sharing});
  lines.push_back(
      {"simulate v-half -m 4 --data-ranks 2 --sharding full --bytes 8 --weight-bytes 8 "
       "--optimizer-step at-end --node-size 2 --inter-latency 2",
       of_links});
  lines.push_back({"emit v-half --as pytorch-comms",
                   {"--data-ranks 2", "--prefetch 3", "--weight-buffers 2", "--reduction at-end"}});
  for (char const* flags : {"", " --block", " --stages"})
    lines.push_back({std::string("emit v-half --as svg") + flags,
                     {"--transfers", "--memory", "--forward 3", "--improve 5000", "--dark"}});
  lines.push_back({"compare 1f1b zb-h1 --as csv", parameters});
  lines.push_back({"compare 1f1b zb-h1 --as csv", of_costs});
  lines.push_back({"compare 1f1b zb-h1 --as csv", {"--checkpoint 50%"}});
  for (options_of_line const& l : lines) {
    tool_result const plain = run_tool(l.line);
    CAPTURE(l.line);
    REQUIRE(plain.code == 0);
    for (std::string const& option : l.options) {
      if (contains(l.line + " ", option.substr(0, option.find(' ')) + " ")) continue;
      tool_result const r = run_tool(l.line + " " + option);
      CAPTURE(option);
      CAPTURE(r.err);
      CHECK(r.code == (r.out.empty() ? 2 : 0));
      CHECK((r.out.empty() ? contains(r.err, " has no effect ") : r.out != plain.out));
    }
  }
}

TEST_CASE("an option without effect is told what it is for") {
  all_refused(
      {{"show 1f1b --waves 2", "--waves has no effect on 1f1b: it is for hanayo"},
       {"compare 1f1b zb-h1 --routes 4", "--routes has no effect on 1f1b, zb-h1: it is for chimera"},
       {"emit 1f1b --as html --against zb-h1 --waves 2", "--waves has no effect on 1f1b and zb-h1"},
       {"show 1f1b --improve-seed 2", "--improve-seed has no effect without --improve"},
       {"show 1f1b --weight-buffers 2",
        "--weight-buffers has no effect without --sharding gradients, weights or full"},
       {"emit 1f1b --as pytorch-comms --prefetch 2", "--prefetch has no effect without --sharding"},
       {"show " + one_schedule() + " -p 4", "-p/--devices has no effect on zb-h1: it is of 2 devices"},
       {"show " + one_schedule() + " -m 8", "it is of 4 micro-batches"},
       {"show 1f1b --block --transfer 2", "--transfer has no effect with --block"},
       {"emit 1f1b --as json --dialect i-b",
        "--dialect has no effect with --as json: it is for pytorch and pytorch-comms"},
       {"emit 1f1b --as json --sharding full", "--sharding has no effect with --as json"},
       {"simulate 1f1b --ring-bandwidth 3", "--ring-bandwidth has no effect on 1f1b"},
       {"simulate 1f1b --data-ranks 2 --ring-bandwidth 3",
        "--ring-bandwidth has no effect without --gradient-bytes or --weight-bytes"},
       {"simulate 1f1b --inter-latency 3", "--inter-latency has no effect without several nodes"},
       {"simulate 1f1b --optimizer-ticks 3", "--optimizer-ticks has no effect without --optimizer-step"},
       {"search --dialect i-b", "--dialect has no effect with --as text"},
       {"frontier --steps 1 --to 50%", "--to has no effect with --steps 1"},
       {"check --dialect i-b " + one_schedule(), "--dialect has no effect on JSON"},
       {"check --forward 2 "
            + scratch_file("comms.csv", run_tool("emit 1f1b -p 2 -m 2 --as pytorch-comms").out),
        "--forward has no effect on a program"},
       {"plan --model 8B --cluster 1x8xH100 --batch 8 --tokens 3", "--tokens has no effect without"},
       {"plan --model 8B --cluster 1x8xH100 --batch 8 --explain --as json", "--explain has no effect"},
       {"trace-diff a b --most 3 --as trace", "--most has no effect with --as trace"},
       {"train --waves 2", "--waves has no effect on v-half"},
       {"train --balance-weight 1", "--balance-weight has no effect without --experts"},
       {"train --launcher srun", "--launcher has no effect without --backend mpi and --restart"}});
}
