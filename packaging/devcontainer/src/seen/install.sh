#!/bin/sh
# Installs seen from a release; for this development container feature and for ../../../../action.yml.
#
#   VERSION    as 0.2.0
#   RELEASES   where the files of that release are: a URL for curl or wget
#   PREFIX     where it is installed (default: /usr/local)
set -eu
PREFIX=${PREFIX:-/usr/local}
if [ -z "${VERSION-}" ] || [ -z "${RELEASES-}" ]; then
	echo "seen: VERSION and RELEASES (where the files of that release are) must be set" >&2
	exit 1
fi
name=seen-$VERSION-linux-$(uname -m).tar.gz
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

fetch() {
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL --retry 3 -o "$directory/$1" "$RELEASES/$1"
	else
		wget -qO "$directory/$1" "$RELEASES/$1"
	fi
}

fetch SHA256SUMS
fetch "$name"
sum=$(grep "  $name\$" "$directory/SHA256SUMS" | cut -d ' ' -f 1)
if [ "$(sha256sum "$directory/$name" | cut -d ' ' -f 1)" != "${sum:-none}" ]; then
	echo "seen: $name is not what SHA256SUMS of $RELEASES says; nothing was installed" >&2
	exit 1
fi
mkdir -p "$PREFIX"
tar -C "$PREFIX" -xzf "$directory/$name" --strip-components=1 --exclude='*/README.md' --exclude='*/LICENSE'
"$PREFIX/bin/seen" --version
