#!/bin/sh
# Install what a build and the tests need on Debian 12 or a relative of it; does nothing where all is there.
# With `tool`: only what the command-line tool needs; with `packages`: what its packages need, too.
set -eu
tool="g++ cmake ninja-build librange-v3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libeigen3-dev"
packaging="dpkg-dev file"
tests="clang libclang-rt-14-dev clang-format-14 pkg-config python3 python3-pip libopenmpi-dev openmpi-bin doctest-dev
  libbenchmark-dev iproute2 doxygen"
case "$*" in
  "") packages="$tool $packaging $tests" ;;
  tool) packages="$tool" ;;
  packages) packages="$tool $packaging" ;;
  *) echo "usage: cmake/setup-debian.sh [tool|packages]" >&2 && exit 2 ;;
esac

missing() {
  for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf ' %s' "$package"
  done
}

if ! command -v apt-get >/dev/null; then
  echo "no apt-get here: please install the like of $packages"
  exit 0
fi
if [ -n "$(missing)" ]; then
  echo "installing:$(missing)"
  root=""
  [ "$(id -u)" = 0 ] || root="sudo"
  export DEBIAN_FRONTEND=noninteractive
  $root apt-get update -qq
  # shellcheck disable=SC2046  # a list of words
  $root apt-get install -y -q --no-install-recommends -o APT::Status-Fd=1 \
    -o APT::Keep-Downloaded-Packages=false $(missing) 2>&1 | awk -F: '
    /^(dlstatus|pmstatus):/ { at = int($3 / 20) * 20; what = $1 == "dlstatus" ? "downloaded" : "installed"
                              if (what at != last && at > 0) print "  " what " " at " %"; last = what at; next }
    /^E: |^After this operation/'
  if [ -n "$(missing)" ]; then
    echo "these packages are still missing:$(missing)" >&2
    exit 1
  fi
fi
[ $# = 0 ] || exit 0

# What Debian 12 has not, in a folder of its own, beside nobody's Python: the reader of our checkpoints that others have, and
# what makes the documentation's site.
cd "$(dirname "$0")/.."
if ! PYTHONPATH=build/python python3 -c "import safetensors, numpy, material, mkdocstrings" 2>/dev/null; then
  echo "installing into build/python: safetensors numpy and docs/site/requirements.txt"
  python3 -m pip install --quiet --no-compile --upgrade --target build/python \
    safetensors numpy -r docs/site/requirements.txt >/dev/null 2>&1 ||
    echo "that did not work: the tests interop/safetensors_reader and docs/site will be skipped"
fi
