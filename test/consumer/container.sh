#!/usr/bin/env bash
# Build the container file for CPUs with buildah, on a bare Debian root in place of the image that a registry has, and run the tool and
# a program in what comes out; needs root, buildah, debootstrap and a network, else returns 77: skipped.
#   container.sh [FOLDER FOR ROOTS AND IMAGES]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-/var/tmp}
if ! command -v buildah >/dev/null; then
  echo "skipped: needs buildah"
  exit 77
fi
. "$top/test/consumer/bare_root.sh"
bare_root "$folder"
store=$(mktemp -d "$folder/images.XXXXXX")
trap 'rm -rf --one-file-system "$root" "$store"' EXIT

images() { buildah --root "$store/all" --runroot "$store/run" --storage-driver vfs "$@"; }
base=$(images from scratch)
images add -q "$base" "$root" / >/dev/null
images commit -q "$base" localhost/debian:12 >/dev/null
images bud -q --pull-never --isolation chroot --network host -f "$top/cmake/recipes/containers/cpu.Containerfile" -t ashlar "$top" >/dev/null
made=$(images from --pull-never localhost/ashlar)
inside() { images run --isolation chroot --network host "$made" -- "$@"; }

[ "$(images inspect --format '{{index .OCIv1.Config.Entrypoint 0}}' "$made")" = ashlar ]
inside ashlar --version
inside ashlar show zb-h1 -p 3 -m 4
images copy -q "$made" "$top/examples/01_first_schedule.cpp" /root/ >/dev/null
inside sh -c 'g++ -std=c++20 /root/01_first_schedule.cpp -o /root/first && /root/first' >"$store/first.txt"
diff "$top/examples/expected/01_first_schedule.txt" "$store/first.txt"
