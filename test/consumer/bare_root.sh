# Sourced by the scripts that need a Debian root with nothing but the base system: bare_root FOLDER makes one of this release, from the
# mirror that this machine has, and sets $root. It needs root, debootstrap and a network; without them it ends with 77, skipped.
bare_root() {
  if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "skipped: needs root and debootstrap"
    exit 77
  fi
  root=$(mktemp -d "$1/bare-debian.XXXXXX")
  . /etc/os-release
  local mirror
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
    sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +'"$VERSION_CODENAME"' +main.*/\2/p;s/^URIs: *([^ ]+).*/\1/p' | head -n 1 || true)
  if ! debootstrap --variant=minbase --include=ca-certificates "$VERSION_CODENAME" "$root" "$mirror" >"$root.log" 2>&1; then
    tail -n 3 "$root.log"
    rm -rf "$root" "$root.log"
    echo "skipped: no bare root could be made here"
    exit 77
  fi
  rm -f "$root.log"
  cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true  # what apt needs to reach the mirror
  cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
}
