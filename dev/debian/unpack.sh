#!/bin/sh
# Unpacks a package, the newest that Debian has, with the libraries it needs into TREE, beside whatever the machine
# itself has: nothing is installed, and no root is needed. PROGRAM is what it is wanted for, as a path in the tree.
#
#   unpack.sh TREE PACKAGE PROGRAM
#
# Two at once are safe: the second waits for the first. TREE appears whole or not at all.
set -eu
umask 022
tree=$1 package=$2 program=$3
mkdir -p "$(dirname "$tree")"
# Every child holds the lock too, so it ends when the last of them does, however they end.
exec 9>"$tree.lock"
flock 9
[ ! -d "$tree" ] || exit 0

mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sed -n '/\/debian\/*$/{p;q;}')
[ -n "$mirror" ] || { echo 'apt knows no Debian mirror here' >&2; exit 1; }

partial=$tree.partial
rm -rf "$partial"
trap 'rm -rf "$partial"' EXIT
trap 'exit 1' HUP INT TERM
apt=$partial/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$partial/tree"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $mirror sid main" >"$apt/sources.list"

get() {
  apt-get -qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::Lists="$apt/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$apt" \
    -o Dir::Cache::archives="$apt/archives" -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}
get update
# The machine's own packages do not count (status=/dev/null): the tree needs every library, the C library too.
get install -y --no-install-recommends --download-only "$package" >/dev/null

for top in bin sbin lib lib64; do
  mkdir -p "$partial/tree/usr/$top"
  ln -s "usr/$top" "$partial/tree/$top"
done
for archive in "$apt"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$archive" | tar -x --keep-directory-symlink -C "$partial/tree" --no-same-owner \
    --exclude='./usr/bin' --exclude='*perl*' --exclude='./usr/share/doc' --exclude='./usr/share/man'
done
[ -x "$partial/tree/$program" ]
# The tree's own loader runs its programs with its own libraries, whatever the machine's are.
(cd "$partial/tree" && ln -s usr/lib/*/ld-linux*.so.* loader)
# Otherwise a power cut could leave the name without the contents.
sync -f "$partial"
mv "$partial/tree" "$tree"
