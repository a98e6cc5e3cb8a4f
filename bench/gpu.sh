#!/bin/sh
# All measurements and checks of a GPU, in about twelve minutes: tests, checks of memory, measurements. Prints Markdown, for
# docs/measurements.md. From the top of a checkout, on a machine with CUDA 13, CMake and ninja; needs no network.
#
#   ASHLAR_DEPS=/path bench/gpu.sh > measured.md      # build and all parts
#   ASHLAR_DEPS=/path bench/gpu.sh tests overhead     # some of: tests sanitizer processes overhead attention training devices
#                                                     # profiles
#
# ASHLAR_DEPS/include holds the headers of doctest, CLI11, fmt, nlohmann, Eigen, range-v3 and, where CUDA has none, nccl.h;
# ASHLAR_DEPS/lib libnccl.so.2. Installed packages are found without it. BUILD names the build folder.
set -u
PATH=$PATH:/usr/local/cuda/bin
deps=${ASHLAR_DEPS:-}
build=${BUILD:-build/gpu}  # below this folder
parts=${*:-tests sanitizer processes overhead attention training devices profiles}
begin=$(date +%s)

wants() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
say() { printf '\n%s\n\n' "$*"; }
# An error, also in a pipe, makes the script fail.
note() { printf '\n**%s**\n' "$*" | tee -a "$build/failures"; }
# Runs within that many seconds; reports a failure.
within() {
  seconds=$1
  shift
  timeout "$seconds" "$@" || note "failed with $?: $*"
}

# Folders that make header-only libraries known to find_package().
known=$PWD/$build/packages
package() { # name, target, include folder below $deps, definitions
  mkdir -p "$known"
  cat >"$known/$1Config.cmake" <<END
if(NOT TARGET $2)
  add_library($2 INTERFACE IMPORTED)
  set_target_properties($2 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$deps/$3" INTERFACE_COMPILE_DEFINITIONS "$4")
endif()
END
}
vendored=
if [ -n "$deps" ]; then
  eigen=include
  [ -d "$deps/include/eigen3" ] && eigen=include/eigen3
  package doctest doctest::doctest include ""
  package CLI11 CLI11::CLI11 include ""
  package fmt fmt::fmt include FMT_HEADER_ONLY
  package nlohmann_json nlohmann_json::nlohmann_json include ""
  package Eigen3 Eigen3::Eigen "$eigen" ""
  package range-v3 range-v3::range-v3 include ""
  echo 'function(doctest_discover_tests)
endfunction()  # only the tests with the label gpu are built' >"$known/doctest.cmake"
  vendored="-Ddoctest_DIR=$known -DCLI11_DIR=$known -Dfmt_DIR=$known -Dnlohmann_json_DIR=$known -DEigen3_DIR=$known -Drange-v3_DIR=$known
    -DCMAKE_MODULE_PATH=$known -DCMAKE_PREFIX_PATH=$deps"
  export NCCL_HOME="${NCCL_HOME:-$deps}"
  export LD_LIBRARY_PATH="$deps/lib:${LD_LIBRARY_PATH:-}"
fi
mkdir -p "$build"
: >"$build/failures"
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
arch=${arch:-90}
# shellcheck disable=SC2086
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DASHLAR_GPU_TESTS=ON -DASHLAR_DOCS=OFF -DASHLAR_MPI=OFF \
  -DASHLAR_WARNINGS_AS_ERRORS=OFF "-DASHLAR_CUDA_FLAGS=-std=c++20;-gencode=arch=compute_$arch,code=sm_$arch" $vendored \
  >"$build/configure.log" 2>&1 || { tail -n 20 "$build/configure.log" >&2; exit 1; }
targets="ashlar_tool ashlar_tool_cuda existing_trainer bench_cuda_overhead bench_cuda_attention bench_cuda_training"
if wants tests || wants sanitizer || wants processes; then targets="$targets test_cuda_gpu test_cuda_gpu_processes"; fi
# shellcheck disable=SC2086
ninja -C "$build" $targets >"$build/build.log" 2>&1 || { grep -E 'error|FAILED' "$build/build.log" | head -n 20 >&2; exit 1; }
printf 'built in %s s\n' "$(($(date +%s) - begin))" >&2

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
say "$(date -u +%Y-%m-%d), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
train="$build/ashlar train --backend cuda --corpus docs"

if wants tests; then
  say "## Tests"
  echo '```'
  within 240 ctest --test-dir "$build" -L gpu -E processes --output-on-failure --timeout 200 2>&1 | tail -n 25
  within 60 "$build/examples/existing_trainer/existing_trainer"
  within 60 $train --schedule zb-h1 -p 4 -m 8 --steps 40 --verify | tail -n 3
  echo '```'
fi

if wants sanitizer; then
  say "## compute-sanitizer"
  echo '```'
  for tool in memcheck racecheck synccheck initcheck; do
    echo "$tool:"
    within 60 compute-sanitizer --tool $tool --error-exitcode 9 "$build/examples/existing_trainer/existing_trainer" | tail -n 2
  done
  within 60 compute-sanitizer --tool memcheck --error-exitcode 9 "$build/ashlar-cuda" train --backend cuda --corpus docs \
    --schedule zb-h1 -p 2 -m 4 --steps 2 --blocks 2 --width 32 --context 32 --no-graph | tail -n 2
  echo '```'
fi

# Processes with NCCL between them on this one GPU, which its authors do not support: to NCCL each is a machine of its own.
in_processes() { # count, arguments of the tool
  count=$1
  shift
  pids=
  port=$((20000 + $$ % 20000))
  rank=0
  while [ $rank -lt "$count" ]; do
    NCCL_HOSTID=machine-$rank NCCL_SOCKET_IFNAME=lo RANK=$rank WORLD_SIZE=$count LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 \
      MASTER_PORT=$port timeout 60 "$build/ashlar" train --backend cuda --corpus docs "$@" &
    pids="$pids $!"
    rank=$((rank + 1))
  done
  for pid in $pids; do wait "$pid" || note "a process failed with $?"; done
}
if wants processes; then
  say "## NCCL between processes on one GPU"
  echo '```'
  within 100 env NCCL_SOCKET_IFNAME=lo ctest --test-dir "$build" -L gpu -R processes --output-on-failure --timeout 90 2>&1 |
    tail -n 12
  for count in 2 4; do
    echo "$count processes:"
    in_processes $count --schedule 1f1b -p $count -m 8 --steps 40 --verify | tail -n 3
  done
  echo '```'
fi

if wants overhead; then
  say "## What the backend costs"
  within 80 "$build/bench/cuda/bench_cuda_overhead"
fi

if wants attention; then
  say "## Attention"
  within 30 "$build/bench/cuda/bench_cuda_attention"
fi

if wants training; then
  say "## Training"
  within 200 "$build/bench/cuda/bench_cuda_training" --precision bf16
  say ""
  within 100 "$build/bench/cuda/bench_cuda_training" --precision float --devices 1,4 --steps 3
fi

if wants devices; then
  say "## The tool on virtual devices"
  echo '```'
  for p in 1 2 4 8; do
    within 30 $train --schedule 1f1b -p $p -m 16 --steps 60 --blocks 8 --width 256 --heads 8 --context 256 --precision bf16 |
      grep tokens/s | tail -n 1
  done
  echo '```'
fi
if wants profiles; then
  say "## What profiles predict"
  echo '```'
  for size in "--width 256 --heads 8 --context 256" "--width 1024 --heads 16 --context 512"; do
    for schedule in 1f1b zb-h1 v-half; do
      model="--schedule $schedule -p 1 -m 16 --blocks 8 $size --precision bf16"
      within 30 "$build/ashlar" profile --backend cuda --corpus docs $model -o "$build/costs.json" >/dev/null
      printf '%s: ' "$schedule"
      within 30 $train $model --steps 40 --costs "$build/costs.json" | grep -E '^(a step takes|predicted) ' | paste -sd ';'
    done
  done
  echo '```'
fi
printf '\nAll of it took %s s.\n' "$(($(date +%s) - begin))"
if [ -s "$build/failures" ]; then
  cat "$build/failures" >&2
  exit 1
fi
