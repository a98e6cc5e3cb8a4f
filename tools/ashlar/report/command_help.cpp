#include "report/command_help.hpp"

#include "command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace tool {

namespace {

constexpr char const* lacks_certificate = "done, but a claim has no certificate, and one was asked for";
constexpr char const* stalled =
    "a device or process failed or stalled, a disk is full, or another training holds the folder: "
    "trying "
    "again may help";

std::string code_lines(std::vector<exit_words> exits) {
  exits.push_back({unusable, "wrong usage, or a file that cannot be used"});
  std::sort(exits.begin(), exits.end(),
            [](exit_words const& a, exit_words const& b) { return a.code < b.code; });
  if (exits.front().code != done) exits.insert(exits.begin(), {done, "done"});
  std::string text = "Exit codes:\n";
  for (exit_words const& each : exits) text += fmt::format("  {:<4} {}\n", each.code, each.words);
  return text.substr(0, text.size() - 1);
}

constexpr char const* linear_in_passes =
    "linearly with passes (devices x micro-batches x chunks), for up to 16 devices with their square";

// The meanings of the codes, for all commands that have them.
std::vector<exit_words> all_exits() {
  return {{done, "done; check: valid"},
          {invalid, "the answer is no: an invalid file, nothing that fits, bits that differ"},
          {failed, stalled},
          {uncertified, lacks_certificate},
          {interrupted_early, "interrupted (Ctrl-C)"}};
}

}  // namespace

std::vector<command_help> const& help_of_commands() {
  static std::vector<command_help> const all{
      {"list", {"ashlar list"}, {}},
      {"show",
       {"ashlar show 1f1b -p 4 -m 8",
        "ashlar show v-half -p 8 -m 16 --forward 10 --backward-input 11 --backward-weight 9 --transfer "
        "1",
        "ashlar show breadth-first -v 4 --data-ranks 2 --sharding full --weight-buffers 2",
        "ashlar show 1f1b -p 4 -m 8 --placement 0,1,2,3/3,2,1,0", "ashlar show v-half --block"},
       {{uncertified, lacks_certificate}},
       linear_in_passes},
      {"emit",
       {"ashlar emit 1f1b -p 4 -m 8 --as pytorch -o 1f1b.csv",
        "ashlar emit zb-h1 -p 4 -m 8 --as pytorch-comms --dialect i-b",
        "ashlar emit depth-first --as pytorch-comms --data-ranks 2 --sharding optimizer",
        "ashlar emit v-half -p 4 -m 8 --as svg --memory --transfers -o v-half.svg",
        "ashlar emit towers.json --as svg --stages",
        "ashlar emit v-half --as svg --block --dark -o v-half-block.svg",
        "ashlar emit 1f1b -p 8 -m 32 --as html --against zb-h1 -o compare.html",
        "ashlar emit zb-h1 --as json --transfer 1 -o zb-h1.json",
        "ashlar emit v-half -p 4 -m 8 --as frameworks"},
       {},
       linear_in_passes,
       "`ashlar check` certifies schedules, and those in files"},
      {"compare",
       {"ashlar compare -p 8 -m 32", "ashlar compare zb-h1.json zb-h1 v-half",
        "ashlar compare 1f1b zb-h1 v-half -p 16 -m 64 --forward 10 --backward-input 13 "
        "--backward-weight 7 --transfer 1",
        "ashlar compare 1f1b eager-1f1b zb-h2 -p 8 -m 16 --forward 10ms --backward-input 10ms "
        "--backward-weight 10ms --link 2-3:60ms",
        "ashlar compare --as svg -o compare.svg"},
       {},
       linear_in_passes},
      {"search",
       {"ashlar search -p 8 -m 32 --memory 0.5 --forward 20 --backward-input 26 --backward-weight 14 "
        "--transfer 1",
        "ashlar search -p 4 -m 8 --placement v --limit 4 --as svg -o v.svg",
        "ashlar search --start zb-h1.json --as json -o better.json",
        "ashlar search -m 8 --placement 0,1,2,3,3,2,1,0,0,1,2,3",
        "ashlar search -p 8 -m 32 --memory 25% --checkpoint 6% --sequence-chunks 4",
        "ashlar search -p 8 -m 32 --placement linear --sequence-chunks 4 --causal 30,46",
        "ashlar search -p 4 -m 8 --placement linear --limit 2 --checkpoint 6% --checkpoint-stages "
        "0-1/0-2",
        "ashlar search -p 4 -m 8 --speeds 100,100,50,100 --limit-bytes 80GiB,80GiB,40GiB,80GiB "
        "--stash-bytes 6GiB --weight-bytes 10GiB --gradient-bytes 10GiB --optimizer-bytes 12GiB",
        "ashlar search -p 4 -m 8 --placement linear --memory 200% --forward 20ms --backward-input 26ms "
        "--backward-weight 14ms --link 2-3:60ms --link 3-2:60ms",
        "ashlar search -p 4 -m 16 --placement linear --per-micro-batch micro.csv --order",
        "ashlar search -p 4 -m 8 --placement linear --forward 20ms --backward-input 20ms "
        "--backward-weight 20ms --limit-bytes 2GiB --stash-bytes 1GiB --host-bandwidth 60GB/s",
        "ashlar search -p 4 -m 16 --per-layer layers.csv --memory 60%",
        "ashlar search -p 4 -m 16 --placement looped -v 2 --per-stage costs.csv --seconds 10 --as "
        "pytorch"},
       {{invalid, "the limit leaves no schedule"},
        {uncertified, lacks_certificate},
        {interrupted_early, "interrupted (Ctrl-C), with the best schedule so far"}},
       "linearly with passes, devices x micro-batches x chunks, and with --budget"},
      {"frontier",
       {"ashlar frontier -p 8 -m 32 --forward 20 --backward-input 26 --backward-weight 14 --transfer 1",
        "ashlar frontier -p 8 -m 32 --placement v --from 30% --to 100% --steps 29 --budget 2000 --as "
        "svg -o v.svg"},
       {{invalid, "no limit leaves a schedule"}, {uncertified, lacks_certificate}},
       "linearly with passes, devices x micro-batches x chunks, with --steps and with --budget"},
      {"tradeoff",
       {"ashlar tradeoff --model model.json --cluster cluster.json --as svg -o tradeoff.svg"},
       {{uncertified, lacks_certificate}}},
      {"plan",
       {"ashlar plan --model 70B --sequence 4096 --cluster 64x8xH100 --batch 1024",
        "ashlar plan --model 70B --sequence 4096 --cluster 4x8xH100+4x8xA100 --batch 128",
        "ashlar plan --model llama3.1-405b --sequence 8192 --cluster 2048x8xH100 --batch 2048 --fix "
        "tensor=8,pipeline=16",
        "ashlar plan --model config.json --cluster 16x8xH100 --batch 512 --explain --emit "
        "megatron:run.sh",
        "ashlar plan --model 8B --cluster 16x8xH100 --batch 512 --objective cost --as html -o "
        "plan.html"},
       {{invalid, "no plan fits, or a framework of --emit runs none; then its file is not written"},
        {uncertified, lacks_certificate}}},
      {"predict",
       {"ashlar predict --model llama3-70b --cluster 16x8xH100 --sequence 8192 --batch 256 --tensor 4 "
        "--pipeline 4 --chunks 5 --sharding optimizer",
        "ashlar predict --model config.json --cluster 8xH200 --sequence 4096 --batch 64 --sharding full "
        "--explain",
        "ashlar predict --model deepseek-v3 --cluster 256x8xH800 --sequence 4096 --batch 15360 --best "
        "5"},
       {{invalid, "--best found no layout that fits"}},
       nullptr,
       "its numbers are predictions; `ashlar plan` certifies which layout is the fastest"},
      {"layout",
       {"ashlar layout --model deepseek-v3 --cluster 128x8xH100 --sequence 4096 --batch 8192 --tensor 2 "
        "--pipeline 16 --chunks 2 --expert 64 --sharding optimizer --recompute full --against "
        "'Et*3|(tt|)*29m|L'",
        "ashlar layout --model llama3.1-405b --cluster 128x8xH100 --sequence 8192 --batch 512 --tensor "
        "8 --pipeline 16 --sharding optimizer --explain",
        "ashlar layout --model llama3-70b --cluster 8x8xH100 --sequence 8192 --batch 128 --tensor 8 "
        "--pipeline 4 --chunks 5 --sharding full --as torchtitan"},
       {{invalid, "no division fits; what is shown holds no more than the one it is compared with"},
        {uncertified, lacks_certificate}}},
      {"partition",
       {"ashlar partition operators.json -p 2",
        "ashlar partition operators.json -p 2 --memory 16GiB --bandwidth 4 --as json -o plan.json",
        "ashlar simulate plan.json"},
       {{invalid, "no partition fits into memory"}, {uncertified, lacks_certificate}},
       "linearly with the operators of a chain; with their square where none has an edge"},
      {"deal",
       {"ashlar deal lengths.txt -m 16 --tokens 4096 --forward 20ms --backward-input 26ms "
        "--backward-weight 14ms --causal 30,46 --max-tokens 16384 --as csv -o micro.csv",
        "ashlar search -p 8 -m 16 --placement linear --per-micro-batch micro.csv --order"},
       {{invalid, "no deal was found within --max-tokens"}},
       "linearly with sequences, but for sorting them"},
      {"check",
       {"ashlar check 1f1b -p 4 -m 8", "ashlar check 1f1b.csv", "ashlar check --for pytorch 1f1b.csv",
        "ashlar check 1f1b.csv --certificate claims.json"},
       {{done, "valid, or no hang"},
        {invalid, "invalid, with the reasons, or a hang, with its cause"},
        {uncertified, lacks_certificate}},
       linear_in_passes},
      {"simulate",
       {"ashlar simulate 1f1b -p 8 -m 32 --forward 10 --backward-input 10 --backward-weight 10 "
        "--latency 1",
        "ashlar simulate v-half -p 8 -m 16 --transfer-order asap --issue in-stream --latency 1",
        "ashlar simulate 1f1b -p 4 -m 8 --forward 20ms --backward-input 26ms --backward-weight 14ms "
        "--link 2-3:60ms --slack",
        "ashlar simulate 1f1b --forward 20ms --backward-input 26ms --backward-weight 14ms --latency "
        "50us",
        "ashlar simulate breadth-first -v 4 --data-ranks 8 --sharding full --weight-bytes 400 "
        "--ring-bandwidth 10",
        "ashlar simulate depth-first -p 4 -m 8 -v 4 --data-ranks 8 --sharding weights --resident 4 "
        "--weight-bytes 400 --stash-bytes 200 --limit-bytes 2000 --ring-bandwidth 10",
        "ashlar simulate 1f1b --node-size 2 --bytes 1000 --bandwidth 1000 --inter-bandwidth 100 --as "
        "json"},
       {{uncertified, lacks_certificate}},
       linear_in_passes},
      {"profile",
       {"ashlar profile --schedule zb-h1 -p 2 -m 8 -o costs.json",
        "ashlar simulate zb-h1 -p 2 -m 8 --costs costs.json",
        "ashlar train --schedule zb-h1 -p 2 -m 8 --costs costs.json --steps 100",
        "mpirun -n 4 ashlar profile --backend mpi -p 4 -o costs.json"},
       {{failed, stalled}},
       nullptr,
       "it measures"},
      {"train",
       {"ashlar train", "ashlar train --schedule zb-h1 -p 2 -m 4 --steps 200 --verify",
        "ashlar train --schedule 1f1b -p 2 --data-ranks 2 --sharding full --tie-embeddings",
        "ashlar train --schedule vocab-2 -p 4 -m 8 --verify",
        "ashlar train --schedule gpipe --experts 8 --balance global --loads loads.svg",
        "ashlar train --corpus /usr/include/c++ --precision double --trace step.json",
        "mpirun -n 4 ashlar train --backend mpi -p 4",
        "ashlar train --backend cuda --schedule zb-h1 -p 4 -m 8 --precision bf16",
        "torchrun --no-python --nproc-per-node 4 ashlar train --backend cuda -p 4"},
       {{done, "trained"},
        {invalid, "the bits differ from those of the model on one thread, or a number is not finite"},
        {failed, stalled},
        {interrupted_early, "interrupted (Ctrl-C); 143: by SIGTERM"}},
       nullptr,
       "it measures; `ashlar check` certifies the program that it runs"},
      {"trace-diff",
       {"ashlar profile --schedule zb-h1 -p 2 -m 8 -o costs.json",
        "ashlar simulate zb-h1 -p 2 -m 8 --costs costs.json --as trace -o plan.json",
        "ashlar train --schedule zb-h1 -p 2 -m 8 --steps 100 --trace step.json",
        "ashlar trace-diff step.json plan.json",
        "ashlar trace-diff step.json plan.json --as html -o diff.html"},
       {}},
      {"report", {"ashlar report", "ashlar report 1f1b.csv --contents"}, {}},
  };
  return all;
}

void add_examples_and_exits(CLI::App& app) {
  std::string firsts = "Examples:\n";
  for (command_help const& each : help_of_commands()) {
    CLI::App* const command = app.get_subcommand(each.command);
    std::string text = command->get_footer();
    if (each.growth != nullptr)
      text += fmt::format("{}Time grows {}.", text.empty() ? "" : "\n", each.growth);
    if (each.no_certificate != nullptr)
      text += fmt::format("{}No certificate: {}.", text.empty() ? "" : "\n", each.no_certificate);
    text += text.empty() ? "Examples:\n" : "\nExamples:\n";
    for (char const* example : each.examples) text += fmt::format("  {}\n", example);
    command->footer(text + code_lines(each.exits));
    std::string const own = fmt::format("ashlar {}", each.command);
    firsts +=
        fmt::format("  {}\n", *std::find_if(each.examples.begin(), each.examples.end(),
                                            [&](std::string_view e) { return e.starts_with(own); }));
  }
  app.footer(firsts + code_lines(all_exits()));
}

}  // namespace tool
