#!/usr/bin/env bash
# Follow docs/start.md in a Debian root that has nothing but the base system, with this tree in $HOME/ashlar; needs root, debootstrap
# and a network, else returns 77: skipped. The parts in a PyTorch environment are tested by python/tests/test_docs.py.
#   bare_debian.sh [FOLDER FOR ROOTS]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/test/consumer/bare_root.sh"
bare_root "${1:-/var/tmp}"
trap 'umount -l "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT

if ! mount -t proc proc "$root/proc" || ! mount --rbind /dev "$root/dev"; then
  echo "skipped: nothing can be mounted here"
  exit 77
fi

mkdir "$root/root/ashlar"
tar -C "$top" --exclude=./build --exclude=./.git -c . | tar -C "$root/root/ashlar" -x
python3 -B "$top/test/structure/docs.py" script "$top" docs/start.md >"$root/root/start.sh"
env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" DEBIAN_FRONTEND=noninteractive \
  chroot "$root" bash /root/start.sh
