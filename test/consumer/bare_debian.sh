#!/usr/bin/env bash
# Follow docs/start.md in a Debian root that has nothing but the base system, with this tree in $HOME/ashlar; needs root, debootstrap
# and a network, else returns 77: skipped. The parts in a PyTorch environment are tested by python/tests/test_docs.py.
#   bare_debian.sh [FOLDER FOR ROOTS]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-/var/tmp}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "skipped: needs root and debootstrap"
  exit 77
fi
root=$(mktemp -d "$folder/bare-debian.XXXXXX")
trap 'umount -l "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT

# The same release and mirror as here, and what apt needs to reach it.
. /etc/os-release
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
  sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +'"$VERSION_CODENAME"' +main.*/\2/p;s/^URIs: *([^ ]+).*/\1/p' | head -n 1 || true)
if ! debootstrap --variant=minbase --include=ca-certificates "$VERSION_CODENAME" "$root" "$mirror" >"$root.log" 2>&1; then
  tail -n 3 "$root.log"
  rm -f "$root.log"
  echo "skipped: no bare root could be made here"
  exit 77
fi
rm -f "$root.log"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
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
