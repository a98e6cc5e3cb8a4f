// `ashlar predict --megatron`: scripts are read as a shell reads them, and what they leave open is said.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

std::string const with_script = "--cluster 4x8xH100 --megatron ";
// The words lack --vocab-size, ranks and format.
std::string const most_words =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --swiglu "
    "--seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --sequence-parallel "
    "--use-distributed-optimizer ";
std::string const script_words = most_words + "--bf16 --vocab-size 128256 ";

std::string script_file(std::string const& text) {
  static int count = 0;
  return scratch_file("script" + std::to_string(++count) + ".sh", text);
}

std::string script_options(std::string const& text) {
  return predicted_run(with_script + script_file(text))["options"].get<std::string>();
}

}  // namespace

TEST_CASE("predict --megatron: a script says what its shell would run") {
  std::string const run = "torchrun --nproc-per-node 8 pretrain_gpt.py " + script_words;
  std::string const size = "--tensor-model-parallel-size ";
  auto const has = [](std::string const& text, std::string const& part) {
    CAPTURE(text);
    CHECK(contains(script_options(text), part));
  };
  setenv("ASHLAR_TEST_RANKS", "4", 1);
  has("export TP=4; export PP=2\n" + run + size + "${TP} --pipeline-model-parallel-size ${PP:-1}",
      "--tensor 4 --pipeline 2");
  has(run + size + "$ASHLAR_TEST_RANKS", "--tensor 4");
  has("ASHLAR_TEST_RANKS=2\n" + run + size + "$ASHLAR_TEST_RANKS", "--tensor 2");
  has("A=1\nB=2\nC=$((A*$B*8 - (3 + 9) % 7 * 2 - 2 ** 2))\n" + run + size + "$C", "--tensor 2");
  has("ARGS=(\"--fp8-format hybrid\" '--vocab-size 128256')\ntorchrun pretrain_gpt.py " + most_words
          + size + "2 ${ARGS[@]}",
      "--precision fp8");
  has("A=\"" + size + "2\"\nA+=\" --fp16\"\nB=()\nB+=( " + most_words
          + "# all\n --vocab-size 9 )\ntorchrun pretrain_gpt.py $A \"${B[@]}\"",
      "--tensor 2 --pipeline 1 --data 16 --sharding optimizer --precision fp16");
  has(run + size + "2 \\\n# " + size + "8", "--tensor 2");
  has(run + size + "8 --tensor-model-parallel-size=2", "--tensor 2");
  has("cat > x.yaml <<'EOF'\na: 1\n" + size + "8\nEOF\ncd /tmp && " + run + size + "2 2>&1 | tee log",
      "--tensor 2");
  has("CMD=\"torchrun pretrain_gpt.py " + script_words + size + "2\"\nsrun --ntasks 8 sh -c \"${CMD}\"",
      "--tensor 2");
  has("SIZES=(" + script_words
          + ")\nray job submit --runtime-env-json='{\n  \"env_vars\": {\"A\": \"1\"}\n}' "
          + "-- python3 train.py --other 7 ${SIZES[@]} " + size + "2",
      "--tensor 2");
  has(run
          + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "
            "Et*8\\|\\(t*8\\|\\)*2t*8L",
      "--layout 'Et*8|(t*8|)*2t*8L'");
  // A condition, and the script's arguments, matter only where they decide what is read.
  has("if [ -z \"$X\" ]; then PORT=1; fi\nLOAD=$1\nN=`nproc`\n" + run + size
          + "2 --load $LOAD --master-port $PORT",
      "--tensor 2");
  has("DATA=()\nif [ $MOCK = 1 ]; then\n  DATA+=(--mock-data --num-workers 1)\nelse\n  "
      "DATA+=(--data-path $X)\nfi\n"
          + run + size + "2 --no-save-optim \"${DATA[@]}\"",
      "--tensor 2");
  has("L=2\nT=2\nfor ((i = 0; i < L; i++)); do\n  if (( i <= T )); then A+=(0); fi\ndone\n" + run + size
          + "$T",
      "--tensor 2");
  // These are words without a command that trains: arguments alone count.
  has("if [ -z $HF ]; then HF=x; fi\nsource $(dirname $0)/other.sh\nMODEL=\"" + script_words + size
          + "2\"",
      "--tensor 2");
  auto const with = predicted_run("--tensor 2 " + with_script + script_file(run + size + "$NOT_SET"));
  CHECK(contains(with["options"].get<std::string>(), "--tensor 2"));
  unsetenv("ASHLAR_TEST_RANKS");
}

TEST_CASE(
    "predict --megatron: what a script leaves open is named with its line, and no branch is taken") {
  std::string const run = "torchrun pretrain_gpt.py " + script_words,
                    size = "--tensor-model-parallel-size ";
  // transformers' MegatronBertForPreTraining has as many with its default configuration.
  std::string const sizes =
      " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --fp16 "
      "--seq-length 512 --max-position-embeddings 512 --vocab-size 29056 "
      "--micro-batch-size 4 --global-batch-size 32 ";
  auto const parameters = [](std::string const& script) {
    return nlohmann::json::parse(
               run_tool("predict --as json --cluster 8xA100-80 --megatron " + script_file(script))
                   .out)["parameters"]
        .get<double>();
  };
  double const encoder = parameters("torchrun pretrain_bert.py" + sizes);
  CHECK(encoder == 334'723'458);
  CHECK(encoder - parameters("torchrun pretrain_bert.py" + sizes + "--bert-no-binary-head")
        == 2 * 1024 + 1024 * 1024 + 1024 + 2 * 1025);
  std::vector<refused_line> lines;
  auto const refused = [&](std::string const& text, std::string const& message) {
    lines.push_back({"predict " + with_script + script_file(text), message});
  };
  refused("S=8\nif [ $S = 8 ]; then\n  PAR=\"" + size + "2\"\nelse\n  PAR=\"" + size + "8\"\nfi\n" + run
              + "$PAR",
          "line 5: $PAR is decided by `if` of line 2");
  refused("TP=1\ncase $X in\n  a) TP=2 ;;\n  *) TP=4 ;;\nesac\n" + run + size + "$TP",
          "line 4: $TP is decided by `case` of line 2");
  refused("for TP in 1 2; do\n" + run + size + "$TP\ndone", "which is decided by `for` of line 1");
  refused("go() {\n" + run + "\n}\ngo", "which is decided by `{` of line 1");
  refused("function go {\n" + run + "\n}\ngo", "which is decided by `{` of line 1");
  refused("(\n" + run + "\n)", "which is decided by `(` of line 1");
  refused("TP=1\n[ -n \"$X\" ] && TP=2\n" + run + size + "$TP", "line 2: $TP is decided by `&&`");
  refused("TP=1\ntest -n \"$X\" || TP=2\n" + run + size + "$TP", "line 2: $TP is decided by `||`");
  refused(run + size + "$1", "line 1: $1 is an argument of the script");
  refused(run + size + "${1:-8}", "${1:-8} is an argument of the script");
  refused("\nTP=$(cat size)\n" + run + size + "$TP", "line 2: $(cat size) is what a command prints");
  refused("TP=`cat size`\n" + run + size + "$TP", "is what a command prints");
  refused(run + size + "$NOT_SET_HERE", "set neither in the file nor in the environment");
  refused("TP=2x\n" + run + size + "${TP%x}", "${TP%x} is not evaluated here");
  refused(run + size + "$((2 * NOT_SET_HERE))", "needs ${NOT_SET_HERE}");
  refused(run + size + "$((1 / 0))", "is no sum of whole numbers");
  refused("TP=1\n((TP = 2))\n" + run + size + "$TP", "line 2: $TP is set by `((`");
  refused("TP=1\n((TP += 1))\n" + run + size + "$TP", "line 2: $TP is set by `((`");
  refused("if a; then : ${TP:=2}; fi\n" + run + size + "$TP", "${TP:=2} is set behind a condition");
  refused("A=\"--no-save-optim\"\nif a; then A+=\" " + size + "4\"; fi\n" + run + "$A",
          "line 2: $A is decided by `if` of line 2");
  refused("A=\"" + script_words + size + "2\"\nB=\"" + size + "4\"",
          "says tensor_model_parallel_size twice");
  refused("TP=1\nread TP\n" + run + size + "$TP", "$TP is set by `read`");
  refused(run + size + "2\n" + run + size + "4", "trains in line 1 and in line 2");
  refused(run + "\\\n# a remark\n" + size + "4", "has arguments in line 3 that no command takes");
  refused("if true; then\n" + script_words + "\nfi", "which are decided by `if` of line 1");
  refused("A=${A:-" + std::string(400, '$') + "}\nB=" + std::string(300, '(') + run, "");
  lines.pop_back();  // which only must end
  all_refused(lines);
}

TEST_CASE(
    "predict --megatron: what makes another model is read or refused; what is not known leaves no "
    "interval") {
  std::string const run = "torchrun pretrain_gpt.py " + script_words + "--tensor-model-parallel-size 2 ";
  auto const found = [&](std::string const& more) {
    return predicted_run(with_script + script_file(run + more));
  };
  auto const plain = found("--log-interval 3 --train-iters 8 --data-path x y");
  CHECK(!plain["interval"].is_null());
  CHECK(plain["notes"] == nlohmann::json{"not read: --data-path --log-interval"});
  // These have the same sizes with another activation; a gate as large as the queries; windows in all
  // layers but each fourth.
  std::string gelu = run;
  gelu.replace(gelu.find("--swiglu"), 8, "--quick-geglu");
  CHECK(predicted_run(with_script + script_file(gelu))["parameters"] == plain["parameters"]);
  double const parameters = plain["parameters"], seconds = plain["step_seconds"];
  CHECK(found("--attention-output-gate")["parameters"].get<double>()
        == parameters + 32 * (4096.0 * 4096 + 4096));  // with its biases
  double const all = found("--window-size 128,0")["terms"]["attention"],
               some = found("--window-size 128,0 --window-attn-skip-freq 4")["terms"]["attention"],
               listed = found(
                   "--window-size 128,0 --window-attn-skip-freq '([1]*24+[0]*8)'")["terms"]["attention"],
               none = plain["terms"]["attention"];
  CHECK(some == doctest::Approx(all + (none - all) / 4));
  CHECK(listed == doctest::Approx(some));
  std::string const routed = "--num-experts 64 --moe-router-topk 8 --expert-model-parallel-size 8 ";
  double const latent = found(routed + "--moe-latent-size 1024")["parameters"],
               wide = found(routed)["parameters"];
  CHECK(wide - latent == 32 * (64 * 3.0 * 14336 * (4096 - 1024) - 2.0 * 4096 * 1024));
  CHECK(found("--grad-reduce-in-bf16")["step_seconds"].get<double>() < seconds);
  for (char const* flag : {"--own-limit 7", "--rampup-batch-size 16 16 1000", "$NOT_SET_HERE"}) {
    auto const unsure = found(flag);
    CHECK(unsure["interval"].is_null());
    CHECK(unsure["step_seconds"] == seconds);
    std::string const name(flag);
    CHECK(contains(unsure["notes"].dump(), "not known, and may change this, so there is no interval: "
                                               + name.substr(0, name.find(' '))));
  }
  // A word that the parser does not take; rows of tables that are counted otherwise.
  CHECK(contains(found("--recompute-granularity selctive")["notes"].dump(),
                 "no interval: --recompute-granularity selctive"));
  CHECK(contains(found("--make-vocab-size-divisible-by 4096")["notes"].dump(), "its tables have "));
  CHECK(!contains(found("--make-vocab-size-divisible-by 64")["notes"].dump(), "its tables have "));
  std::vector<refused_line> lines;
  for (char const* flag : {"--lora-rank 16", "--freeze-LM", "--yaml-cfg a.yaml", "--skip-train",
                           "--task x", "--heterogeneous-layers-config-path x", "--encoder-num-layers 3",
                           "--experimental-attention-variant dsa", "--deepspeed", "--peft lora",
                           "--num-classes 7", "--use-kitchen", "--linear-attention-freq 4"})
    lines.push_back(
        {"predict " + with_script + script_file(run + flag),
         "has " + std::string(flag).substr(0, std::string(flag).find(' ')) + " in line 1: "});
  for (char const* flag : {"--swiglu-limit 7", "--own_heads 4", "--own-experts=8"})
    lines.push_back({"predict " + with_script + script_file("X=1\n" + run + "\\\n " + flag),
                     " in line 3, which is not known, and tells of a model: say --model"});
  lines.push_back({"predict " + with_script + script_file(run + "--spec own.layers get"),
                   "has --spec own.layers get in line 1: a function makes the layers"});
  lines.push_back({"predict " + with_script + script_file(run + "--hybrid-attention-ratio 2"),
                   "a share of the layers is from 0 to 1"});
  lines.push_back({"predict " + with_script + script_file(run + "--normalization Other"),
                   "there are LayerNorm and RMSNorm"});
  for (char const* program :
       {"pretrain_ict.py", "/x/pretrain_retro.py", "pretrain_vlm.py", "pretrain_vision_classify.py"})
    lines.push_back(
        {"predict " + with_script + script_file("python " + std::string(program) + " " + script_words),
         "trains no decoder alone"});
  for (char const* program : {"tools/generate_samples_gpt.py", "run_text_generation_server.py", "ptq.py",
                              "preprocess_data.py", "evaluate_gpt.py", "train_tokenizer.py"})
    lines.push_back(
        {"predict " + with_script + script_file("python " + std::string(program) + " " + script_words),
         ", and trains no"});
  lines.push_back(
      {"predict " + with_script + script_file(run + "--optimizer muon"), "only the state of Adam"});
  lines.push_back({"predict " + with_script + script_file(run + "--hybrid-layer-pattern 'M*-/MM'"),
                   "--hybrid-layer-pattern"});
  lines.push_back(
      {"predict " + with_script + script_file(run + "--window-size 128,64"), "--window-size"});
  lines.push_back({"predict " + with_script + script_file(run + "--delay-wgrad-compute"),
                   "--overlap-moe-expert-parallel-comm"});
  lines.push_back({"predict " + with_script + script_file(run + "--fp16"), "--fp16 and --bf16"});
  lines.push_back(
      {"predict " + with_script
           + script_file(
               run + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2"),
       "every 2th layer"});
  all_refused(lines);
}

TEST_CASE("predict --megatron: stages are those that Megatron-LM makes, or it stops") {
  std::string const run = "torchrun pretrain_gpt.py " + script_words;
  auto const with = [&](int layers, int pipeline, std::string const& more) {
    return script_file(run + "--num-layers " + std::to_string(layers)
                       + " --pipeline-model-parallel-size " + std::to_string(pipeline) + " " + more);
  };
  std::string const embedding = "--account-for-embedding-in-pipeline-split ",
                    loss = "--account-for-loss-in-pipeline-split ",
                    each = "--num-layers-per-virtual-pipeline-stage ",
                    virtual_stages = "--num-virtual-stages-per-pipeline-rank ",
                    first = "--decoder-first-pipeline-num-layers ",
                    last = "--decoder-last-pipeline-num-layers ",
                    letters = "--pipeline-model-parallel-layout ";
  auto const has = [&](std::string const& file, std::string const& part) {
    std::string const options = predicted_run(with_script + file)["options"];
    CAPTURE(options);
    CHECK(contains(options + " ", part));
  };
  has(with(30, 4, embedding + loss + each + "4"), "--chunks 2");
  has(with(30, 4, embedding + loss + each + "4"), "--layout '3,4,4,4,4,4,4,3'");
  has(with(30, 4, embedding + loss), "--layout '7,8,8,7'");
  has(with(31, 4, embedding), "--layout '7,8,8,8'");
  has(with(31, 4, loss + virtual_stages + "2"), "--layout '4,4,4,4,4,4,4,3'");
  has(with(32, 4, first + "6 " + last + "6 " + virtual_stages + "2"), "--layout '3,5,5,3,3,5,5,3'");
  has(with(31, 4, first + "7"), "--layout '7,8,8,8'");
  has(with(32, 4, each + "4"), "--chunks 2");
  has(with(32, 4, letters + "'Et*16|(t*4|)*3|t*4||L'"), "--chunks 2");
  std::vector<refused_line> lines;
  auto const refused = [&](std::string const& file, std::string const& message) {
    lines.push_back({"predict " + with_script + file, message});
  };
  refused(with(40, 8, each + "2"), "has 5 layers on each pipeline rank, which 2 do not divide");
  refused(with(30, 4, ""), "has 30 layers for its pipeline, which 4 do not divide");
  refused(with(32, 4, embedding), "has 33 layers with embedding or loss for its pipeline");
  refused(with(32, 4, virtual_stages + "3"), "has 8 layers on a pipeline rank, which 3 do not divide");
  refused(with(32, 4, first + "7"), "leave no equal share");
  refused(with(32, 4, first + "8 " + loss), "at which Megatron-LM stops");
  refused(with(32, 4, first + "8 " + each + "4"), "takes --num-virtual-stages-per-pipeline-rank there");
  refused(with(32, 4, each + "4 " + virtual_stages + "2"),
          "beside --num-virtual-stages-per-pipeline-rank");
  refused(with(32, 2, letters + "'Et*16|t*16L' " + virtual_stages + "1"), "at which Megatron-LM stops");
  refused(with(32, 2, letters + "'Et*16|t*16'"), "must end with L");
  refused(with(32, 2, letters + "'Et*16 | t*16L'"), "with blanks");
  refused(with(32, 2, letters + "'E(t(t)*3)*4|t*16L'"), "with parentheses in parentheses");
  refused(with(32, 2, letters + "'Et*8|t*8|t*16L'"), "of 3 stages for 2 pipeline ranks");
  all_refused(lines);
  CHECK(predicted_run("--chunks 2 " + with_script + with(32, 4, each + "3"))["options"]
            .get<std::string>()
            .find("--chunks 2")
        != std::string::npos);
}

TEST_CASE("predict --megatron: what data ranks share, and who says the model") {
  std::string const run =
      "torchrun pretrain_gpt.py " + script_words + "--tensor-model-parallel-size 2 --use-megatron-fsdp ";
  std::string const strategy = "--data-parallel-sharding-strategy ";
  auto const shared = [&](std::string const& text) {
    std::string const options = script_options(text), key = "--sharding ";
    auto const at = options.find(key);
    return at == std::string::npos
               ? std::string("none")
               : options.substr(at + key.size(), options.find(' ', at + key.size()) - at - key.size());
  };
  CHECK(shared(run) == "none");
  CHECK(contains(predicted_run(with_script + script_file(run))["notes"].dump(), "is read as no_shard"));
  CHECK(shared(run + strategy + "no_shard") == "none");
  CHECK(shared(run + strategy + "optim") == "optimizer");
  CHECK(shared(run + strategy + "optim_grads") == "gradients");
  CHECK(shared(run + strategy + "optim_grads_params") == "full");
  std::string const instances =
      "torchrun pretrain_gpt.py " + script_words
      + "--tensor-model-parallel-size 2 --num-distributed-optimizer-instances 4";
  CHECK(contains(script_options(instances), "--sharding optimizer --shard-ranks 4"));
  all_refused(
      {{"predict " + with_script + script_file(run + strategy + "all"), "there are: no_shard optim"},
       {"predict " + with_script
            + script_file(run + strategy + "optim_grads_params --outer-dp-sharding-strategy optim"),
        "among copies of shards"}});
  // A model stands beside a file that names none; ranks come from the environment of a run.
  std::string const yaml = scratch_file("no_sizes.yaml",
                                        "--tensor-model-parallel-size: 2\n--bf16: true\n"
                                        "--seq-length: 4096\n--global-batch-size: 64\n");
  auto const named = predicted_run("--model llama3-8b " + with_script + yaml);
  CHECK(named["model"] == "llama3-8b");
  CHECK(contains(named["options"].get<std::string>(),
                 "--sequence 4096 --batch 64 --micro-batch 1 --tensor 2"));
  std::string const listed = scratch_file(
      "listed.yaml", content(yaml) + "model:\n  recompute_granularity: selective\n  recompute_modules:\n"
                                     "    - core_attn\n    - layernorm\n  fp8: null\n  mixed_precision: bf16_with_mxfp8\n");
  CHECK(contains(predicted_run("--model llama3-8b --cluster 4x8xB200 --megatron " + listed)["options"]
                     .get<std::string>(),
                 "--recompute attention,layernorm --precision mxfp8"));
  std::string const twice = scratch_file("twice.yaml", content(yaml) + "x:\n  --seq-length: 2048\n");
  all_refused({{"predict --model llama3-8b " + with_script + twice, "says seq_length twice"},
               {"predict " + with_script + yaml, "lacks --hidden-size"}});
}
