// `ashlar train --save` and `--resume`: they give the same bits as without a break, and no break loses
// more than the steps since.
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <gpt/crc32.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

using namespace training_test;

namespace {

namespace fs = std::filesystem;

std::string const two_devices = "train --schedule 1f1b -p 2 -m 4" + tiny;

// A training of eight steps with checkpoints after four and eight.
std::string trained(std::string const& name, std::string const& arguments) {
  std::string const folder = fresh_folder(name);
  tool_result const r = run_tool(arguments + " --steps 8 --save-every 4 --save " + folder + corpus());
  CHECK(r.code == 0);
  CHECK(contains(r.out, "saved " + checkpoint_path(folder, 4)));
  CHECK(contains(r.out, "saved " + checkpoint_path(folder, 8)));
  return folder;
}

}  // namespace

TEST_CASE("the checksum is that of zip and PNG") {
  CHECK(gpt::crc32(std::as_bytes(std::span(std::string_view("123456789")))) == 0xcbf43926U);
  CHECK(gpt::crc32({}) == 0);
}

TEST_CASE("a training that goes on from a checkpoint learns the same bits, on other devices too") {
  std::string const whole = trained("whole", two_devices);
  learned const expected = learned_after(whole, 8);
  CHECK(expected.tensors.size() == 3 * (2 + 4 * 12 + 2 + 2));
  CHECK(!(learned_after(whole, 4).tensors == expected.tensors));
  for (char const* how :
       {"train --schedule 1f1b -p 2 -m 4", "train --schedule v-half -p 2 -m 4 --verify",
        "train --schedule zb-h1 -p 3 -m 4", "train --schedule gpipe -p 1 -m 4"}) {
    CAPTURE(how);
    std::string const folder = fresh_folder("resumed");
    tool_result const r = run_tool(how + tiny + " --steps 8 --resume " + checkpoint_path(whole, 4)
                                   + " --save " + folder + corpus());
    CHECK(r.code == 0);
    CHECK(contains(r.out, "resumed after 4 steps from " + checkpoint_path(whole, 4)));
    CHECK(contains(r.out, "\n4 steps in "));
    CHECK(learned_after(folder, 8) == expected);
  }
}

TEST_CASE("ranks, shards and a tied embedding go on as well, and the ranks may become others") {
  for (char const* how :
       {"train --schedule 1f1b -p 2 -m 2 --data-ranks 2 --sharding full --tie-embeddings",
        "train --schedule chimera -p 2 -m 2 --data-ranks 2 --precision double"}) {
    CAPTURE(how);
    std::string const whole = trained("shared", how + tiny), folder = fresh_folder("resumed");
    std::string const rest = " --steps 8 --resume " + checkpoint_path(whole, 4) + " --save " + folder;
    CHECK(run_tool(how + tiny + rest + corpus()).code == 0);
    CHECK(learned_after(folder, 8) == learned_after(whole, 8));
  }
  // The norm has no order, so that shards may be those of other stages.
  std::string const shards =
      trained("shards", "train --schedule 1f1b -p 2 -m 2 --data-ranks 2 --sharding full" + tiny);
  for (char const* where : {"zb-h1 -p 3 --sharding gradients", "v-half -p 2 --sharding none"}) {
    CAPTURE(where);
    std::string const folder = fresh_folder("resumed");
    CHECK(run_tool("train --data-ranks 2 -m 2 --steps 8 --schedule " + std::string(where) + tiny
                   + " --resume " + checkpoint_path(shards, 4) + " --save " + folder + corpus())
              .code
          == 0);
    CHECK(learned_after(folder, 8) == learned_after(shards, 8));
  }
  // The gradients of a tied matrix are summed one after the other while its ends are on different
  // devices.
  std::string const tied = trained("tied", two_devices + " --tie-embeddings");
  for (char const* where : {"1f1b -p 3", "zb-h1 -p 4"}) {
    CAPTURE(where);
    std::string const folder = fresh_folder("resumed");
    CHECK(run_tool("train --tie-embeddings -m 4 --steps 8 --schedule " + std::string(where) + tiny
                   + " --resume " + checkpoint_path(tied, 4) + " --save " + folder + corpus())
              .code
          == 0);
    CHECK(learned_after(folder, 8) == learned_after(tied, 8));
  }
  std::string const whole = trained("shared", "train --schedule 1f1b -p 2 -m 2 --data-ranks 2" + tiny);
  tool_result const r = run_tool("train --schedule 1f1b -p 2 -m 4 --steps 12 --verify" + tiny
                                 + " --resume " + whole + corpus());
  CHECK(r.code == 0);
  CHECK(contains(r.out, "resumed after 8 steps"));
  CHECK(contains(r.out, "bitwise equal to the sequential model's"));
}

TEST_CASE("a training that is killed goes on from its last checkpoint to the same end") {
  std::string const whole = fresh_folder("whole"), folder = fresh_folder("killed");
  std::string const line = two_devices + " --steps 150 --save-every 5" + corpus() + " --save ";
  CHECK(run_tool(line + whole).code == 0);
  for (int step : {5, 60}) {
    running_program const run("'" ASHLAR_TOOL "' " + line + folder
                              + (step == 5 ? "" : " --resume " + folder));
    run.wait_for("saved " + checkpoint_path(folder, step));
    CHECK(kill_those_with({folder}) == 1);
    CHECK(run.end().code == 137);
  }
  fs::create_directories(folder + "/removed-step-00000001.checkpoint.partial");
  CHECK(run_tool(line + folder + " --resume " + folder).code == 0);
  CHECK(learned_after(folder, 150) == learned_after(whole, 150));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);  // the last two, nothing partial
}

TEST_CASE("a checkpoint that is damaged or not this training's is refused, with what is wrong") {
  std::string const good = trained("good", two_devices), folder = fresh_folder("bad");
  auto const refused = [&](std::string const& options, std::string const& words) {
    tool_result const r = run_tool(options + " --steps 8 --resume " + folder + corpus());
    CAPTURE(options);
    CHECK(r.code == 2);
    INFO(r.err);
    CHECK(contains(r.err, words));
  };
  auto const afresh = [&] {
    fs::remove_all(folder);
    fs::copy(checkpoint_path(good, 4), folder, fs::copy_options::recursive);
  };
  std::string const part = folder + "/device-1.safetensors", manifest = folder + "/manifest.json";

  refused(two_devices, "there is no complete checkpoint in '" + folder + "'");
  afresh();
  damage(part, fs::file_size(part) - 3);
  refused(two_devices,
          "'" + part + "' is damaged: tensor 'norm.gain.second_moment' has another checksum");
  afresh();
  damage(part, 12);
  refused(two_devices, "'" + part + "' is damaged: ");
  afresh();
  fs::resize_file(part, 1000);
  refused(two_devices, "'" + part + "' is damaged: it has 1000 bytes instead of ");
  afresh();
  fs::remove(part);
  refused(two_devices, "cannot read '" + part + "'");
  afresh();
  damage(manifest, fs::file_size(manifest) / 2);
  refused(two_devices, "'" + manifest + "' is damaged");
  afresh();
  fs::resize_file(manifest, fs::file_size(manifest) / 2);
  refused(two_devices, "'" + manifest + "' is damaged");
  afresh();
  refused("train --schedule 1f1b -p 2 -m 4 --blocks 4 --width 32 --heads 2 --context 16",
          "--width is 32 here, and 16 in '" + folder + "'");
  refused(two_devices + " --precision double", "--precision is double here, and float in");
  refused(two_devices + " --tie-embeddings", "--tie-embeddings is true here, and false in");
  refused(two_devices + " --seed 2", "--seed is 2 here, and 1 in");
}

TEST_CASE("a checkpoint is called after the step of its manifest, and has one") {
  std::string const good = trained("named", two_devices), folder = fresh_folder("misnamed");
  auto const with = [&](std::string const& name, int step) {
    fs::copy(checkpoint_path(good, step), folder + "/" + name, fs::copy_options::recursive);
  };
  auto const refused = [&](std::string const& words) {
    tool_result const r = run_tool(two_devices + " --steps 8 --resume " + folder + corpus());
    CHECK(r.code == 2);
    INFO(r.err);
    CHECK(contains(r.err, words));
  };
  fs::create_directories(folder);
  with("step-00000004.checkpoint", 4);
  for (std::string const other : {"step-00000009.checkpoint", "step-99999999999999999999.checkpoint",
                                  "step-00000005-copy.checkpoint"}) {
    with(other, 4);
    refused("/" + other + "' has another name than its manifest says: it is step-00000004.checkpoint");
    fs::remove_all(folder + "/" + other);
  }
  fs::create_directories(folder + "/step-00000005.checkpoint");
  refused("/step-00000005.checkpoint' has no manifest.json: it is no complete checkpoint");
  fs::remove_all(folder + "/step-00000005.checkpoint");
  std::string const manifest = folder + "/step-00000004.checkpoint/manifest.json";
  std::ofstream(manifest, std::ios::app | std::ios::binary) << std::string(3, '\0');
  refused("'" + manifest + "' is damaged");
}

// A manifest that somebody wrote, with the checksum that belongs to it.
TEST_CASE("a manifest names files of its folder alone, and counts within their ranges") {
  std::string const good = trained("signed", two_devices), folder = fresh_folder("forged");
  auto const forged = [&](auto change) {
    fs::remove_all(folder);
    fs::copy(checkpoint_path(good, 4), folder, fs::copy_options::recursive);
    auto all = nlohmann::json::parse(content(folder + "/manifest.json"));
    change(all["checkpoint"]);
    std::string const text = all["checkpoint"].dump();
    all["crc32"] = gpt::crc32(std::as_bytes(std::span(text)));
    std::ofstream(folder + "/manifest.json") << all;
    return run_tool(two_devices + " --steps 8 --resume " + folder + corpus());
  };
  CHECK(forged([](auto&) {}).code == 0);
  std::string const damaged = "'" + folder + "/manifest.json' is damaged";
  for (std::string const file : {"../device-0.safetensors", "/etc/passwd", "..", ".", "", "a/b"}) {
    CAPTURE(file);
    tool_result const r = forged([&](auto& c) { c["parts"][0]["file"] = file; });
    CHECK((r.code == 2 && contains(r.err, damaged)));
  }
  for (nlohmann::json const& wrong :
       {nlohmann::json(-1), nlohmann::json(1e300), nlohmann::json(UINT64_MAX),
        nlohmann::json(1'000'000'001), nlohmann::json("4")})
    for (char const* key : {"step", "updates", "batches"}) {
      if (std::string(key) == "batches" && wrong == 1'000'000'001) continue;
      CAPTURE(key);
      CAPTURE(wrong.dump());
      tool_result const r = forged([&](auto& c) { c[key] = wrong; });
      CHECK((r.code == 2 && contains(r.err, damaged)));
    }
  std::string const part = folder + "/device-0.safetensors";
  tool_result const fifo = forged([&](auto&) {
    fs::remove(part);
    mkfifo(part.c_str(), 0600);
  });
  CHECK((fifo.code == 2 && contains(fifo.err, "'" + part + "' is not a file")));
  std::ofstream(folder + "/manifest.json") << std::string(1'000'000, '[');
  CHECK(contains(run_tool(two_devices + " --resume " + folder + corpus()).err, damaged));
}

TEST_CASE("a folder that cannot be written to is found before the first step") {
  std::string const file = scratch_file("no_folder", "a file");
  tool_result const r = run_tool(two_devices + " --steps 1 --save " + file + "/below" + corpus());
  CHECK(r.code == 2);
  CHECK(contains(r.err, "cannot make the folder '" + file + "/below'"));
  CHECK_FALSE(contains(r.out, "step"));
  std::string const folder = fresh_folder("no_room"), err = (scratch() / "no_room_err").string();
  std::string const limited = "ulimit -f 2; '" ASHLAR_TOOL "' " + two_devices + " --steps 1 --save "
                              + folder + corpus() + " >/dev/null 2>'" + err + "'";
  int const status = std::system(limited.c_str());
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 2));
  CHECK(contains(content(err), "cannot write '" + folder + "/.probe'"));
}

TEST_CASE("a folder that a training writes into is not given to another one") {
  std::string const folder = fresh_folder("locked");
  running_program const run("'" ASHLAR_TOOL "' " + two_devices + " --steps 1000000 --save-every 5"
                            + corpus() + " --save " + folder);
  run.wait_for("saved " + checkpoint_path(folder, 5));
  tool_result const r =
      run_tool(two_devices + " --steps 1000000 --save " + folder + " --resume " + folder + corpus());
  CHECK(r.code == 3);  // it may work later
  CHECK(contains(r.err, "--save: '" + folder + "' is written by another training, process "));
  CHECK(kill_those_with({folder}) == 1);
  CHECK(run.end().code == 137);
  // The killed process no longer holds it.
  CHECK(run_tool(two_devices + " --steps 1 --save " + folder + " --resume " + folder + corpus()).code
        == 0);
  CHECK_FALSE(fs::exists(folder + "/.lock"));
}

TEST_CASE("what says how to save needs a folder") {
  for (char const* option : {"--save-every 2", "--restart 1"}) {
    tool_result const r = run_tool(two_devices + " --steps 1 " + option + corpus());
    CHECK(r.code == 2);
    CHECK(contains(r.err, "requires --save"));
  }
}

TEST_CASE("a folder that has checkpoints of a training is not given to another one") {
  std::string const folder = trained("taken", two_devices);
  tool_result const r = run_tool(two_devices + " --steps 1 --save " + folder + corpus());
  CHECK(r.code == 2);
  CHECK(contains(r.err, "'" + checkpoint_path(folder, 8) + "' is there already; --resume " + folder));
}

TEST_CASE("a disk that is full ends a training, and the checkpoint before is whole") {
  std::string const folder = fresh_folder("full");
  std::string const line = two_devices + corpus() + " --save " + folder;
  CHECK(run_tool(line + " --steps 2").code == 0);
  learned const before = learned_after(folder, 2);
  std::string const err = (scratch() / "full_err").string();
  // Files have at most 16 blocks of half a kilobyte.
  std::string const limited = "ulimit -f 16; '" ASHLAR_TOOL "' " + line + " --steps 4 --resume " + folder
                              + " >/dev/null 2>'" + err + "'";
  int const status = std::system(limited.c_str());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(contains(content(err), "cannot write '" + checkpoint_path(folder, 4)
                                   + ".partial/device-0.safetensors': File too large"));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  CHECK(learned_after(folder, 2) == before);
  CHECK(run_tool(line + " --steps 4 --resume " + folder).code == 0);
}

TEST_CASE("a file system that is full ends a training, and what it had saved goes on") {
  std::string const folder = fresh_folder("tmpfs"), told = (scratch() / "tmpfs_told").string();
  auto const with_disk = [&](std::string const& commands, int kilobytes) {
    return with_small_disk(folder, commands, told, kilobytes);
  };
  if (!with_disk("true", 400)) {
    MESSAGE("skipped: no privilege to mount a small tmpfs");
    return;
  }
  std::string const saved = folder + "/saved",
                    line = "\"" ASHLAR_TOOL "\" " + two_devices + corpus() + " --save " + saved;
  // Something else takes the disk in the middle, which holds the three checkpoints that lie there at
  // once. No device is lost by that.
  CHECK(with_disk(line + " --steps 1000000 --save-every 5 --restart 1 --lost-devices 1 & while ! ls -d "
                      + saved
                      + "/*.checkpoint; do sleep 0.01; done 2>/dev/null; dd if=/dev/zero of=" + folder
                      + "/ballast bs=1k count=4000 2>/dev/null; wait $!; test $? = 3 || exit 2; rm "
                      + folder + "/ballast; " + line + " --steps 1 --resume " + saved,
                  1600));
  std::string const out = content(told);
  INFO(out);
  CHECK(contains(out, "cannot write '" + saved + "/step-"));
  CHECK(contains(out, ".partial/"));  // a device's file or the manifest, by where the disk was full
  CHECK(contains(out, "No space left on device"));
  CHECK(contains(out, "ashlar: the training broke off; restart 1 of 1 from " + saved + "/step-"));
  CHECK_FALSE(contains(out, "without device"));
  CHECK(
      contains(out, "the training broke off and is not started again after 1 restarts"));  // still full
  CHECK(contains(out, "resumed after "));
}

TEST_CASE("a folder without room for a checkpoint is found before the first step") {
  std::string const folder = fresh_folder("tight"), told = (scratch() / "tight_told").string();
  std::string const line =
      "\"" ASHLAR_TOOL "\" " + two_devices + corpus() + " --save " + folder + "/saved --steps 1";
  // A file takes all but this many kilobytes.
  auto const with_room = [&](int kilobytes) {
    return with_small_disk(folder,
                           "dd if=/dev/zero of=" + folder + "/ballast bs=1k count="
                               + std::to_string(400 - kilobytes) + " 2>/dev/null; " + line,
                           told);
  };
  if (!with_small_disk(folder, "true", told)) {
    MESSAGE("skipped: no privilege to mount a small tmpfs");
    return;
  }
  CHECK_FALSE(with_room(40));
  std::string const said = content(told), words = "' has room for ";
  INFO(said);
  REQUIRE(contains(said, "--save: '" + folder + "/saved" + words));
  CHECK_FALSE(contains(said, "\nstep"));
  CHECK_FALSE(contains(said, "cannot write"));
  // It says what it needs: that much is enough, and a kilobyte less than its last block is not.
  std::string const takes = "a checkpoint takes ";
  int const needed = std::stoi(said.substr(said.find(takes) + takes.size())) / 1024;
  CHECK(needed > 40);
  constexpr int page = 4;
  CHECK(with_room(needed + 3 * page));  // the folder's own and the lock's are taken before
  CHECK(contains(content(told), "saved " + checkpoint_path(folder + "/saved", 1)));
  CHECK_FALSE(with_room(needed - 2 * page));
  CHECK(contains(content(told), words));
  // When the third checkpoint is written, three are there; then two are kept.
  CHECK_FALSE(with_small_disk(folder, line + "00 --save-every 3", told));
  CHECK(contains(content(told), "and each of 3 checkpoints takes " + std::to_string(needed * 1024)));
  CHECK_FALSE(with_small_disk(folder, line + "0 --save-every 5", told));
  CHECK(contains(content(told), "and each of 2 checkpoints takes "));
}

TEST_CASE("a training that dies is started again, as often as it may be") {
  std::string const whole = fresh_folder("whole"), folder = fresh_folder("restarted");
  std::string const line = two_devices + " --steps 150 --save-every 5" + corpus() + " --save ";
  CHECK(run_tool(line + whole).code == 0);
  {
    running_program const run("'" ASHLAR_TOOL "' " + line + folder + " --restart 2");
    run.wait_for("saved " + checkpoint_path(folder, 30));
    CHECK(kill_those_with({supervised, folder}) == 1);
    tool_result const r = run.end();
    CHECK(r.code == 0);
    CHECK(contains(r.out, "ashlar: the training was killed by signal 9; restart 1 of 2 from " + folder));
  }
  CHECK(learned_after(folder, 150) == learned_after(whole, 150));
  std::string const other = fresh_folder("restarted too often");
  running_program const run("'" ASHLAR_TOOL "' " + two_devices + " --steps 1000000 --save-every 5"
                            + corpus() + " --save '" + other + "' --restart 1");
  run.wait_for("saved " + checkpoint_path(other, 5));
  CHECK(kill_those_with({supervised, other}) == 1);
  run.wait_for("resumed after ");
  CHECK(kill_those_with({supervised, other}) == 1);
  tool_result const r = run.end();
  CHECK(r.code == 3);
  CHECK(contains(r.out, "was killed by signal 9 and is not started again after 1 restart"));
}

TEST_CASE("Ctrl-C ends a training that is started again when it dies, and saves it") {
  std::string const folder = fresh_folder("stopped");
  running_program const run("'" ASHLAR_TOOL "' " + two_devices + " --steps 1000000" + corpus()
                            + " --save " + folder + " --restart 5");
  run.wait_for("1/1000000");
  run.send(SIGINT);
  tool_result const r = run.end();
  CHECK(r.code == 130);
  CHECK(contains(r.out, "interrupted; "));
  CHECK(contains(r.out, "saved " + folder));
}

TEST_CASE("an output layer in shards goes on in other shards, and whole") {
  std::string const shards = trained("head_in_shards", "train --schedule vocab-2 -p 3 -m 4" + tiny);
  learned const there = learned_after(shards, 8);
  CHECK(there.tensors.contains("head.weight.second_moment[85:170]"));
  CHECK(there.tensors.contains("head.bias[170:256]"));
  CHECK(!there.tensors.contains("head.weight"));
  std::string const again = fresh_folder("same_shards"), half = checkpoint_path(shards, 4);
  CHECK(run_tool("train --schedule vocab-2 -p 3 -m 4 --steps 8 --verify --resume " + half + " --save "
                 + again + tiny + corpus())
            .code
        == 0);
  CHECK(learned_after(again, 8) == there);

  // A loss that is scaled out of range changes nothing: the file saved equals the file read.
  std::string last = trained("whole_head", two_devices);
  auto const expected = learned_after(last, 8).tensors;
  int step = 8;
  for (char const* how : {"vocab-2 -p 3", "vocab-1 -p 4 --input-shards", "1f1b -p 3 --input-shards",
                          "vocab-2 -p 2", "v-half -p 2"}) {
    CAPTURE(how);
    std::string const next = fresh_folder("head" + std::to_string(++step));
    tool_result const r =
        run_tool("train --schedule " + std::string(how) + " -m 4 --loss-scale 1e300" + " --steps "
                 + std::to_string(step) + " --resume " + last + " --save " + next + tiny + corpus());
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK(contains(r.out, "skipped, as their numbers were not finite: "));
    last = next;
  }
  CHECK(learned_after(last, step).tensors == expected);

  // One of the shards is lacking.
  std::string const folder = fresh_folder("lacking"), manifest = folder + "/manifest.json";
  fs::copy(half, folder, fs::copy_options::recursive);
  auto content_of = nlohmann::json::parse(content(manifest));
  auto& parts = content_of["checkpoint"]["parts"];
  parts[1]["tensors"].erase("head.weight[85:170]");
  content_of["crc32"] =
      gpt::crc32(std::as_bytes(std::span(std::string_view(content_of["checkpoint"].dump()))));
  std::ofstream(manifest) << content_of;
  for (char const* how : {"vocab-2 -p 3", "1f1b -p 2"}) {
    tool_result const r = run_tool("train --schedule " + std::string(how) + " -m 4 --steps 8 --resume "
                                   + folder + tiny + corpus());
    CHECK(r.code == 2);
    CHECK_MESSAGE(contains(r.err, "has no tensor 'head.weight"), r.err);
  }
}
