#!/usr/bin/env bash
# Packages of one commit have the same bytes: makes them in two folders with names of different length, and compares.
#   same_packages.sh [FOLDER]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
commit=$(git -C "$top" rev-parse HEAD)
work=$(mktemp -d "${1:-/var/tmp}/same-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
for name in one another-one; do
  git clone -q --no-hardlinks "$top" "$work/$name"
  git -C "$work/$name" checkout -q --detach "$commit"
  CCACHE_DISABLE=1 "$work/$name/cmake/packages.sh" >"$work/$name.log" 2>&1 || { tail -n 20 "$work/$name.log"; exit 1; }
  (cd "$work/$name/build/packages" && sha256sum ./*.deb ./*.tar.gz) >"$work/$name.sums"
done
cat "$work/one.sums"
diff "$work/one.sums" "$work/another-one.sums"
