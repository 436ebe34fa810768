# shellcheck shell=bash disable=SC2034 # its variables are used where it is sourced
# What scripts/run, scripts/test and scripts/check share.  Sourced by bash, from scripts/ only.
#
# Messages go to standard error, so that standard output stays the command's.  `root` is the
# repository's directory; nothing here changes the current directory of the caller.

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# Debian's names.  What each is for, or how else it shows that it is there: see package_present.
build_packages="gcc libc6-dev cmake ninja-build pkg-config libxxhash-dev libinih-dev libjansson-dev nettle-dev libncurses-dev libsqlite3-dev libgit2-dev"
unit_packages="libcriterion-dev patch"
test_packages="$unit_packages python3 git strace bubblewrap busybox-static perl nodejs procps bsdutils musl-tools valgrind"
# What single tests need besides, "TEST PACKAGE...": a test, or a part of it, whose program is not there is skipped.  The second list is for
# --long.
view_packages="
behaviour|bench python3-jsonschema
behaviour.report_html chromium
behaviour.packages binutils dpkg-dev lintian rpm
behaviour.nvim neovim
behaviour.ci curl python3-yaml
behaviour.completions zsh fish mandoc shellcheck
behaviour.hook_shells zsh fish busybox-static
behaviour.top tmux
behaviour.attest|behaviour.session_words openssl openssh-client
behaviour.requests_search ripgrep ugrep
behaviour.report_sums cmark-gfm
behaviour.consumers curl python3-yaml
faults.neighbours libjemalloc2 libeatmydata1 libfaketime tsocks
faults.soak gnuplot-nox
faults.suites libpython3-testsuite
behaviour.suites binutils make rsync ripgrep jq sqlite3 vim-tiny less patch ed xz-utils bzip2 zip unzip"
view_packages_long="
behaviour.suites_long binutils make rsync ripgrep jq sqlite3 vim-tiny less patch ed xz-utils bzip2 zip unzip bat
faults.suites dpkg-dev make tcl-dev npm debootstrap
behaviour.consumers postgresql clickhouse-server"
# What scripts/check runs; a check whose program is not there is skipped.
check_packages="clang clang-format clang-tidy cppcheck shellcheck"
# What ./scripts/bench runs and draws with; tests/bench/run --packages prints what its ways need.
bench_packages="python3 git binutils musl-tools gnuplot-nox procps"

say() {
	printf '%s\n' "$*" >&2
}

# package_present NAME: installed as a package, or by other means (another distribution, /usr/local).
package_present() {
	# a line for each architecture that it is known for
	if dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; then
		return 0
	fi
	case $1 in
	gcc) command -v cc ;;
	libc6-dev) [ -e /usr/include/stdio.h ] && [ ! -x "$(command -v dpkg-query)" ] ;;
	ninja-build) command -v ninja ;;
	libxxhash-dev) pkg-config --exists libxxhash ;;
	libinih-dev) pkg-config --exists inih ;;
	libjansson-dev) pkg-config --exists jansson ;;
	nettle-dev) pkg-config --exists nettle ;;
	libncurses-dev) pkg-config --exists ncursesw ;;
	libsqlite3-dev) pkg-config --exists sqlite3 ;;
	libgit2-dev) pkg-config --exists libgit2 ;;
	python3-jsonschema) [ -d /usr/lib/python3/dist-packages/jsonschema ] || python3 -c 'import jsonschema' ;;
	python3-yaml) [ -d /usr/lib/python3/dist-packages/yaml ] || python3 -c 'import yaml' ;;
	libcriterion-dev) pkg-config --exists criterion ;;
	bubblewrap) command -v bwrap ;;
	busybox-static) command -v busybox ;;
	nodejs) command -v node ;;
	neovim) command -v nvim ;;
	procps) command -v ps ;;
	bsdutils) command -v script ;;
	musl-tools) command -v musl-gcc ;;
	gnuplot-nox) command -v gnuplot ;;
	binutils) command -v nm ;;
	dpkg-dev) command -v dpkg-source ;;
	ripgrep) command -v rg ;;
	vim-tiny) command -v vim || command -v vim.tiny ;;
	xz-utils) command -v xz ;;
	postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' || command -v initdb ;;
	clickhouse-server) [ -x /usr/sbin/clickhouse-server ] || command -v clickhouse-server ;;
	snoopy) compgen -G '/usr/lib*/*/libsnoopy.so' || compgen -G '/usr/lib*/libsnoopy.so' ;;
	firejail) compgen -G '/usr/lib*/*/firejail/libtrace.so' || compgen -G '/usr/lib*/firejail/libtrace.so' ;;
	bat) command -v batcat || command -v bat ;;
	libpython3-testsuite) compgen -G '/usr/lib*/python3.*/test/test_io.py' ;;
	*) command -v "$1" ;; # the program has the package's name
	esac >/dev/null 2>&1
}

# install_packages NAME...: installs by apt those that are missing, and says which.  Returns 1, having
# said what to do by hand, where that cannot be done from here.
install_packages() {
	local name missing=() as_root=() install install_missing apt log
	for name; do
		package_present "$name" || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	if ! command -v apt-get >/dev/null 2>&1; then
		say "not installed: ${missing[*]}"
		say "there is no apt-get on this machine: install what these Debian packages hold, then start again"
		return 1
	fi
	install="apt-get install -y --no-install-recommends ${missing[*]}"
	if [ "$(id -u)" != 0 ]; then
		if ! command -v sudo >/dev/null 2>&1; then
			say "not installed: ${missing[*]}"
			say "this needs root; as root, run:"
			say "    apt-get update && $install"
			return 1
		elif sudo -n true 2>/dev/null; then
			as_root=(sudo -n)
		elif [ -t 0 ] && [ -t 2 ]; then
			as_root=(sudo) # it asks for the password
		else
			say "not installed: ${missing[*]}"
			say "this needs root, and sudo asks for a password; run:"
			say "    sudo apt-get update && sudo $install"
			return 1
		fi
	fi

	say "installing: ${missing[*]}"
	mkdir -p "$root/build"
	log=$root/build/apt.log
	: >"$log"
	apt=(${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive
		apt-get -q -o DPkg::Lock::Timeout=300)
	install_missing=("${apt[@]}" install -y --no-install-recommends "${missing[@]}")
	# An install first where there are package lists: most often they are good enough.
	if compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null &&
		"${install_missing[@]}" </dev/null >>"$log" 2>&1; then
		return 0
	fi
	if "${apt[@]}" update </dev/null >>"$log" 2>&1 &&
		"${install_missing[@]}" </dev/null >>"$log" 2>&1; then
		return 0
	fi
	say "apt-get failed; the end of $log:"
	tail -n 20 "$log" >&2
	say "by hand, as root:"
	say "    apt-get update && $install"
	return 1
}

presets_cmake=3.25 # reads CMakePresets.json

# cmake_is VERSION: is it that or newer?  Sets cmake_version.
cmake_is() {
	cmake_version=$(cmake --version 2>/dev/null | sed -nE '1s/^[^0-9]*([0-9]+(\.[0-9]+)*).*/\1/p')
	[ "$(printf '%s\n' "$1" "$cmake_version" | sort -V | head -n 1)" = "$1" ]
}

# cmake_is_new_enough PRESET: returns 1, having said what to do, where it is older than CMakeLists.txt asks for; and than presets do,
# but for release.
cmake_is_new_enough() {
	local needs=$presets_cmake
	[ "$1" != release ] || needs=$(sed -nE 's/^cmake_minimum_required\(VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
	cmake_is "$needs" && return 0
	say "cmake ${cmake_version:-(of no version)} is too old: seen needs $needs or newer; take it from cmake.org, a backport, or by: pip install cmake"
	return 1
}

# show_progress PRESET LOG: copies what a build says to LOG; shows how far it is, if it takes longer than two seconds.
show_progress() {
	local line next=$((SECONDS + 2)) shown=no
	while IFS= read -r line; do
		printf '%s\n' "$line"
		if [ "$SECONDS" -lt "$next" ] || ! [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
			continue
		elif [ -t 2 ]; then
			printf '\rbuilding %s: %s of %s steps ' "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
			shown=yes
		else
			say "building $1: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
			next=$((SECONDS + 10))
		fi
	done >"$2"
	[ $shown = no ] || printf '\r\033[K' >&2
}

# build PRESET [TARGET...]: configures where needed and builds; the output goes to build/PRESET.log and
# is shown on failure only.  Two at once wait for each other.  Returns 1 on failure.
build() {
	local preset=$1 log=$root/build/$1.log
	shift
	cmake_is_new_enough "$preset" || return 1
	mkdir -p "$root/build"
	(
		set -o pipefail
		flock 9
		build_locked "$preset" "$@" 2>&1 </dev/null 9>&- | show_progress "$preset" "$log" 9>&-
	) 9>"$root/build/$preset.lock" && return 0
	say "the build failed; the end of $log:"
	tail -n 40 "$log" >&2
	return 1
}

build_locked() {
	local preset=$1 directory=$root/build/$1 configure=()
	shift
	cd "$root" || return 1
	if ! cmake_is "$presets_cmake"; then # a release build, as the preset has it
		configure=(cmake -G Ninja -S "$root" -B "$directory" -DCMAKE_BUILD_TYPE=Release)
	elif [ ! -e "$directory/build.ninja" ] || [ CMakePresets.json -nt "$directory/build.ninja" ] ||
		[ "${configure_always-}" = yes ]; then
		configure=(cmake --preset "$preset")
	fi
	if [ -e "$directory/CMakeCache.txt" ] &&
		! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$directory/CMakeCache.txt"; then
		configure=(cmake --fresh --preset "$preset") # the directory was copied or moved
	fi
	if [ ${#configure[@]} -gt 0 ]; then
		"${configure[@]}" || return 1
	fi
	cmake --build "$directory" ${1+--target "$@"}
}
