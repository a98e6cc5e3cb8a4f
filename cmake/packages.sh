#!/bin/sh
# Make the packages of a release in build/packages: `ashlar` has the tool, `libashlar-dev` what others build with; a tarball of
# each needs no apt. Parts that need MPI or CUDA are in them where these are installed.
set -eu
cd "$(dirname "$0")/.."
cmake/setup-debian.sh tool
cmake --preset release -B build/packaged -DASHLAR_NATIVE=OFF -DASHLAR_BENCH=OFF -DCMAKE_UNITY_BUILD_BATCH_SIZE=25
cmake --build build/packaged --target ashlar_tool ashlar_compiled
cpack -G "DEB;TGZ" --config build/packaged/CPackConfig.cmake -B build/packages
