// The tool answers every question quickly: an absurd one with exit code 2 and a message that says what
// is wrong.
#include "tool/refusals.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("wrong usage") {
  all_refused({{"", "subcommand"},
               {"dance", "dance"},
               {"show", "name"},
               {"emit 1f1b", "--as"},
               {"emit 1f1b --as punchcards", "punchcards"},
               {"emit 1f1b --as json --block", "--block has no effect with --as json: it is for svg"},
               {"check", "file"},
               {"show 1f1b --color sometimes", "sometimes"},
               {"show 1f1b --no-such-option", "--no-such-option"},
               {"show 1f1b --micro-batch 4", "'--micro-batch': did you mean '--micro-batches'?"},
               {"serach -p 4", "there is no subcommand 'serach'; did you mean 'search'?"},
               {"show 1f1b -p four", "four"},
               {"show 1f1b -p 4.5", "4.5"},
               {"show nothing-like-it", "there is no schedule 'nothing-like-it'; see `ashlar list`"},
               {"show v-hafl", "did you mean 'v-half'?"},
               {"show interleavd", "did you mean 'interleaved'?"},
               {"show ''", "there is no schedule ''"}});
}

TEST_CASE("absurd sizes") {
  all_refused(
      {{"show 1f1b -p 0", "-p/--devices must be from 1 to 1024, not 0"},
       {"show 1f1b -p -4", "not -4"},
       {"show 1f1b -m 0", "-m/--micro-batches must be from 1 to 100000, not 0"},
       {"show 1f1b -m -3", "not -3"},
       {"show 1f1b -p 1000000000", "-p/--devices must be from 1 to 1024"},
       {"show 1f1b -m 1000000000", "-m/--micro-batches must be from 1 to 100000"},
       {"emit v-half -p 1000000000 -m 1000000000 --as svg", "-p/--devices"},
       {"show 1f1b -p 99999999999999999999999", "-p"},
       {"show v-half -p 1000 -m 1000 --memory-cap 1GiB",
        "1000 devices with 1000 micro-batches make 6000000 passes or more, which take about 2.86 GiB "
        "of memory; --memory-cap is 1 GiB"},
       {"emit 1f1b -p 1024 -m 100000 --as json --memory-cap 64GiB", "about 97.7 GiB of memory"},
       {"emit breadth-first -v 1024 -p 1024 -m 100000 --as json", "half of this machine's"},
       {"show 1f1b --memory-cap much", "--memory-cap is a number of bytes"},
       {"emit 1f1b -p 8 -m 20000 --as svg", "too large"}});
}

TEST_CASE("numbers that are none, or out of range, are told the range") {
  all_refused(
      {{"show 1f1b -p ''", "-p/--devices must be from 1 to 1024, not ''"},
       {"show 1f1b -p 0x10", "not 0x10"},
       {"show 1f1b -p ' 4'", "-p/--devices"},
       {"search --seconds nan", "--seconds must be a number from 0.01 to 1000000, not nan"},
       {"search --seconds inf", "not inf"},
       {"search --seconds 1e7", "--seconds must be a number from 0.01 to 1000000, not 1e7"},
       {"search --seconds ''", "--seconds"},
       {"search --seed -1", "--seed must be at least 0 and below 2^64, not -1"},
       {"search --budget 1e3", "--budget must be from 1 to 1000000000, not 1e3"},
       {"search --limit 8, --placement v", "--limit has an empty entry: '8,'"},
       {"search --limit 8,,8,8 --placement v", "--limit has an empty entry"},
       {"search --limit '' --placement v", "--limit has an empty entry"},
       {"search --speeds 100,100,100,100,", "--speeds has an empty entry"},
       {"search --stash-bytes 1 --limit-bytes 80,", "--limit-bytes has an empty entry"},
       {"search --memory ''", "--memory"},
       {"simulate 1f1b --latency -1", "--latency must be at least 0 and below 2^61, not -1"},
       {"simulate 1f1b --latency 1e400", "--latency must be a time like 3, 1.5, 12.5ms, 800us or 2s"},
       {"simulate 1f1b --optimizer-step at-end --optimizer-ticks 4000000000000000000",
        "--optimizer-ticks must be at least 0 and below 2^61"},
       {"show 1f1b --width -1", "--width must be from 0 to 100000, not -1"},
       {"train --learning-rate nan",
        "--learning-rate must be a number from 1e-09 to 1000000000, not nan"},
       {"train --steps 0", "--steps must be from 1 to 1000000, not 0"}});
}

TEST_CASE("absurd costs") {
  all_refused(
      {{"show 1f1b --forward -2", "--forward must be at least 0 and below 2^61, not -2"},
       {"show 1f1b --forward nan",
        "--forward must be a time like 3, 1.5, 12.5ms, 800us or 2s, not 'nan'"},
       {"show 1f1b --backward-input -1", "--backward-input must be at least 0"},
       {"show 1f1b --backward-weight -1", "--backward-weight"},
       {"show 1f1b --transfer -1", "--transfer must be at least 0"},
       {"show 1f1b --forward 2305843009213693951", "range of ticks"},
       {"show 1f1b --forward 9223372036854775807", "--forward must be"},
       {"show 1f1b --forward 92233720368547758070", "--forward"},
       {"show 1f1b --transfer 2305843009213693951", "range of ticks"},
       {"show 1f1b --per-stage " + scratch_file("few.csv", "1,1,1\n"),
        "costs of 1 stages, but 1f1b on 4"},
       {"show 1f1b --per-stage " + scratch_file("word.csv", "1,1,1\n1,one,1\n"), "line 2"},
       {"show 1f1b --per-stage " + scratch_file("negative.csv", "1,-1,1\n"), "line 1"},
       {"show 1f1b --per-stage " + scratch_file("more.csv", "1,1,1,1\n"), "line 1"},
       {"show 1f1b --per-stage " + scratch_file("none.csv", "# nothing\n"), "has no costs"},
       {"show 1f1b --per-stage /no/such/file", "cannot read '/no/such/file'"},
       {"show 1f1b --forward 2 --per-stage " + scratch_file("four.csv", "1,1,1\n"), "excludes"}});
}

TEST_CASE("files that cannot be used") {
  std::string const none = (scratch() / "none.txt").string();
  all_refused({{"check " + none, "cannot read"},
               {"check /", "Is a directory"},
               {"check /dev/zero --memory-cap 1GiB", "larger than 128 MiB, which takes too much memory"},
               {"check /bin/sh", "not a text file"},
               {"check " + scratch_file("nul.csv", std::string("0F0,0B0\0\n", 9)), "not a text file"},
               {"emit 1f1b --as json -o /", "cannot write"},
               {"check "
                    + scratch_file("wide.csv", std::string("\xFF\xFE"
                                                           "0\0F\0",
                                                           6)),
                "UTF-16"}});
}

TEST_CASE("check reads within a cap on memory what emit wrote within it") {
  std::string const file = (scratch() / "capped").string();
  for (std::string const format : {"json", "pytorch", "pytorch-comms"})
    for (std::string const shape : {"1f1b -p 4 -m 64", "v-half -p 4 -m 32"}) {
      // A pass takes 512 bytes: fused backwards make two passes of a stage, split ones three.
      int const passes = shape.starts_with("v") ? 8 * 32 * 3 : 4 * 64 * 2;
      auto const cap = [&](int some) { return " --memory-cap " + std::to_string(512 * some); };
      std::string const emit = "emit " + shape + " -o " + file + " --as " + format;
      CHECK(run_tool(emit + cap(passes)).code == 0);
      CHECK(run_tool("check " + file + cap(passes)).code == 0);
      CHECK(run_tool(emit + cap(passes - 1)).code == 2);
      CHECK(run_tool("check " + file + cap(passes - 1)).code == 2);
    }
}

TEST_CASE("a file with huge numbers or many lines is refused without being tried") {
  CHECK(run_tool("check " + scratch_file("high.csv", "999999999F999999999\n"), 5).code == 1);
  CHECK(run_tool("check " + scratch_file("lines.csv", std::string(1'000'000, '\n')), 5).code == 1);
  CHECK(run_tool("check " + scratch_file("commas.csv", std::string(10'000'000, ',')), 5).code == 1);
  std::string many;
  for (int d = 0; d < 2000; ++d) many += std::to_string(d) + "F0," + std::to_string(d) + "B0\n";
  tool_result const r = run_tool("check " + scratch_file("many.csv", many), 5);
  CHECK(r.code == 2);
  CHECK(r.err.find("2000 devices") != std::string::npos);
}

TEST_CASE("the smallest and the largest sizes work") {
  for (auto const* line :
       {"show 1f1b -p 1 -m 1", "show v-half -p 1 -m 1 --block", "show zb-h1 -p 1 -m 1",
        "show gpipe -p 1 -m 100000", "emit v-half -p 64 -m 1000 --as pytorch",
        "show 1f1b --forward 1000000000000000"}) {
    CAPTURE(line);
    CHECK(run_tool(line).code == 0);
  }
}
