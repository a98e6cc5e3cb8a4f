#!/bin/sh
# Install what a build and the tests need on Debian 12 or a relative of it; does nothing where all is there.
set -eu
packages="g++ clang libclang-rt-14-dev clang-format-14 cmake ninja-build pkg-config python3
  libopenmpi-dev openmpi-bin doctest-dev libeigen3-dev librange-v3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libbenchmark-dev"

if ! command -v apt-get >/dev/null; then
  echo "no apt-get here: please install the like of $packages"
  exit 0
fi
missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "installing:$missing"
root=""
[ "$(id -u)" = 0 ] || root="sudo"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086  # a list of words
$root apt-get install -y -qq --no-install-recommends $missing >/dev/null
