/* What a reader's command is: see reader_identity.h. */
#include "shim/preload/follow/reader_identity.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/keep/scratch.h"
#include "shim/preload/state.h"
#include "tracker/content/inputs.h"
#include "tracker/path/glob.h"
#include "tracker/process/capture.h"
#include "tracker/process/normal_form.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

static void add_text(struct version_stream *stream, const char *text)
{
	version_stream_add(stream, text, strlen(text) + 1);
}

/* Variables that change what readers print. */
static bool is_telling(const char *entry)
{
	static const char *const NAMES[] = {
		"BLOCKSIZE=",
		"BLOCK_SIZE=",
		"CLICOLOR",
		"COLORTERM=",
		"COLUMNS=",
		"DF_BLOCK_SIZE=",
		"DU_BLOCK_SIZE=",
		"FIND_BLOCK_SIZE=",
		"GREP_",
		"GIT_",
		"HOME=",
		"LANG=",
		"LANGUAGE=",
		"LC_",
		"LD_",
		"LOCPATH=",
		"LS_",
		"NO_COLOR=",
		"OUTPUT_CHARSET=",
		"POSIXLY_CORRECT",
		"POSIX_",
		"QUOTING_STYLE=",
		"SUDO_UID=",
		"TABSIZE=",
		"TERM=",
		"TIME_STYLE=",
		"TREE_",
		"TZ=",
		"TZDIR=",
		"XDG_CONFIG_HOME=",
		"_POSIX2_VERSION=",
		"_POSIX_OPTION_ORDER=",
	};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strncmp(entry, NAMES[i], strlen(NAMES[i])) == 0)
			return true;
	return false;
}

/* In whatever order: shells differ in it. */
static void add_variables(struct version_stream *stream, char *const environment[])
{
	struct version sum = { 0 };

	for (size_t i = 0; environment && environment[i]; i++) {
		if (!is_telling(environment[i]))
			continue;
		struct version one = version_of_bytes(environment[i], strlen(environment[i]));
		sum.low += one.low;
		sum.high += one.high;
		sum.size_bytes += one.size_bytes + 1;
	}
	version_stream_add(stream, &sum, sizeof(sum));
}

/* ulimit: with fewer descriptors or less memory a program may not read all. */
static void add_limits(struct version_stream *stream)
{
	uint64_t limit[2] = { 0, 0 };

	for (long resource = 0; resource < RLIM_NLIMITS; resource++) {
		(void)sys_call6(SYS_prlimit64, 0, resource, 0, (long)limit, 0, 0);
		version_stream_add(stream, limit, sizeof(limit));
	}
}

/* What stands behind a standard descriptor, as far as programs behave by it. */
static void add_standard(struct version_stream *stream, int fd)
{
	struct winsize size = { 0, 0, 0, 0 };
	uint64_t kind[2] = { 0, 0 };
	struct stat stat;

	if (sys_fstat(fd, &stat) == 0) {
		kind[0] = stat.st_mode & S_IFMT;
		/* terminals are one like another; other devices are not */
		kind[1] = S_ISCHR(stat.st_mode) && !is_terminal_device(&stat) ? stat.st_rdev : 0;
		if (fd == STDOUT_FILENO && is_terminal_device(&stat))
			(void)sys_call3(SYS_ioctl, fd, TIOCGWINSZ, (long)&size);
	}
	version_stream_add(stream, kind, sizeof(kind));
	version_stream_add(stream, &size, sizeof(size));
}

/* ---- the normal form ---- */

/* Does a text stand between two NULs in what this process' program holds besides its variables? */
static bool image_has(const char *text)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM), length = strlen(text);
	uintptr_t base = 0;

	for (size_t i = 0; headers && i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			base = (uintptr_t)headers - headers[i].p_vaddr;
	for (size_t i = 0; headers && i < count; i++) {
		if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & (PF_R | PF_W)) != PF_R)
			continue;
		const char *begin = (const char *)(base + headers[i].p_vaddr);
		const char *at = begin, *end = begin + headers[i].p_filesz;
		while (at < end && (at = memmem(at, (size_t)(end - at), text, length + 1))) {
			if (at > begin && at[-1] == '\0')
				return true;
			at += length;
		}
	}
	return false;
}

static bool is_directory(const char *path)
{
	struct stat stat;
	return sys_fstatat(AT_FDCWD, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(stat.st_mode);
}

static bool is_ascii(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] <= 0)
			return false;
	return true;
}

static bool is_text(const char *path)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	char *chunk = fd < 0 ? NULL : chunk_acquire();
	struct stat stat;
	bool text = chunk && sys_fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
		    stat.st_size <= INPUTS_READ_BYTES_MAX;
	ssize_t got;

	for (off_t offset = 0; text && (got = sys_pread(fd, chunk, CHUNK_BYTES, offset)) != 0;
	     offset += got)
		text = got > 0 && is_ascii(chunk, (size_t)got);
	chunk_release(chunk);
	if (fd >= 0)
		(void)sys_close(fd);
	return text;
}

/* The words of the normal form.  False: it has none. */
static bool add_form(struct version_stream *stream, const char *name, char *const argv[],
		     char *const environment[], bool is_terminal)
{
	const struct normal_facts facts = { .is_terminal = is_terminal,
					    .is_directory = is_directory,
					    .is_text = is_text };
	const char *package = normal_form_package(name);
	char *form = package && normal_form_applies(environment) ? scratch_acquire() : NULL;
	size_t length = form ? normal_form(name, argv, &facts, form, SEGMENT_PATH_BYTES) : 0;
	bool has_form = length && image_has(package);

	if (has_form)
		version_stream_add(stream, form, length);
	scratch_release(form);
	return has_form;
}

static bool is_terminal(int fd)
{
	struct stat stat;
	return sys_fstat(fd, &stat) == 0 && is_terminal_device(&stat);
}

bool reader_identify(const char *executable, const char *name, char *const argv[],
		     char *const environment[], struct version *ret_identity)
{
	char listed[SEGMENT_PATH_BYTES];
	struct version_stream stream;
	struct stat stat;
	uint32_t who[2] = { sys_geteuid(), (uint32_t)sys_call3(SYS_getegid, 0, 0, 0) };

	if (sys_stat(executable, &stat) < 0 || sys_getcwd(listed, sizeof(listed)) <= 0 ||
	    listed[0] != '/')
		return false;
	struct stamp stamp = stamp_of(&stat);
	version_stream_init(&stream);
	add_text(&stream, executable);
	version_stream_add(&stream, &stamp, sizeof(stamp));
	version_stream_add(&stream, who, sizeof(who));
	add_text(&stream, listed);
	bool has_form = add_form(&stream, name, argv, environment, is_terminal(STDOUT_FILENO));
	/* git's other forms are not known to read alone. */
	if (!has_form && strcmp(name, "git") == 0)
		return false;
	if (!has_form)
		for (size_t i = 0; argv[i]; i++)
			add_text(&stream, argv[i]);
	version_stream_add(&stream, "", 1); /* no word follows */
	add_variables(&stream, environment);
	add_limits(&stream);
	add_standard(&stream, STDIN_FILENO);
	add_standard(&stream, STDOUT_FILENO);
	*ret_identity = version_stream_finish(&stream);
	return true;
}

static bool is_file(const char *path)
{
	struct stat stat;
	return sys_fstatat(AT_FDCWD, path, &stat, 0) == 0 && S_ISREG(stat.st_mode);
}

/* Is a part of a path a link? */
static bool leads_through_link(const char *path)
{
	char *part = scratch_acquire();
	bool link = !part;
	struct stat stat;

	for (size_t length = 0; !link && length + 1 < SEGMENT_PATH_BYTES; length++) {
		if (length && (path[length] == '/' || !path[length])) {
			part[length] = '\0';
			link = sys_fstatat(AT_FDCWD, part, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
			       S_ISLNK(stat.st_mode);
		}
		if (!path[length])
			break;
		part[length] = path[length];
	}
	scratch_release(part);
	return link;
}

enum search_order reader_order(const char *name, char *const argv[], char *const environment[])
{
	if (!search_order_counts(name))
		return SEARCH_FIXED;
	for (size_t i = 1; argv[i]; i++)
		if (leads_through_link(argv[i]))
			return SEARCH_UNKNOWN;
	return search_order(name, argv, environment, is_file);
}

bool reader_is_never(const char *name, char *const argv[])
{
	const struct segment *segment = &shim.segment;
	char *joined = scratch_acquire();
	const char *glob = NULL;
	size_t used = joined ? strlen(name) : 0;
	bool never = !joined;

	if (joined)
		memcpy(joined, name, used + 1);
	for (size_t i = 1; !never && argv[i]; i++) {
		size_t length = strlen(argv[i]);
		never = used + length + 2 > SEGMENT_PATH_BYTES;
		if (never)
			break;
		joined[used++] = ' ';
		memcpy(joined + used, argv[i], length + 1);
		used += length;
	}
	while (!never && (glob = segment_text(segment, segment->settings->requests_never, glob)))
		never = path_glob(glob, joined, false);
	scratch_release(joined);
	return never;
}
