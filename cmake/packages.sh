#!/bin/sh
# Make the packages of a release in build/packages: `ashlar` has the tool, `libashlar-dev` what others build with; a tarball of
# each needs no apt. Parts that need MPI or CUDA are in them where these are installed. The same commit gives the same bytes with the
# same compiler, wherever the checkout stands: test/consumer/same_packages.sh shows it.
set -eu
cd "$(dirname "$0")/.."
cmake/setup-debian.sh packages
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
umask 022
cmake --preset release -B build/packaged -DASHLAR_NATIVE=OFF -DASHLAR_BENCH=OFF -DCMAKE_UNITY_BUILD_BATCH_SIZE=25
cuda=$(ninja -C build/packaged -t targets all | sed -nE 's/^(ashlar_cuda|ashlar_tool_cuda): phony$/\1/p')
# shellcheck disable=SC2086  # a list of words
cmake --build build/packaged --target ashlar_tool ashlar_compiled $cuda
cpack -G "DEB;TGZ" --config build/packaged/CPackConfig.cmake -B build/packages
