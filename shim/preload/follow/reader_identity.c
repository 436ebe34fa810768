/* What a reader's command is: see reader_identity.h. */
#include "shim/preload/follow/reader_identity.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shim/keep/scratch.h"
#include "shim/preload/state.h"
#include "tracker/path/glob.h"
#include "tracker/process/capture.h"
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
		"HOME=",
		"LANG=",
		"LANGUAGE=",
		"LC_",
		"LD_LIBRARY_PATH=",
		"LOCPATH=",
		"LS_",
		"NO_COLOR=",
		"POSIXLY_CORRECT",
		"POSIX_",
		"QUOTING_STYLE=",
		"TABSIZE=",
		"TERM=",
		"TIME_STYLE=",
		"TREE_",
		"TZ=",
		"TZDIR=",
		"_POSIX2_VERSION=",
		"_POSIX_OPTION_ORDER=",
	};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strncmp(entry, NAMES[i], strlen(NAMES[i])) == 0)
			return true;
	return false;
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

bool reader_identify(const char *executable, char *const argv[], char *const environment[],
		     struct version *ret_identity)
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
	for (size_t i = 0; argv[i]; i++)
		add_text(&stream, argv[i]);
	version_stream_add(&stream, "", 1); /* no word follows */
	for (size_t i = 0; environment && environment[i]; i++)
		if (is_telling(environment[i]))
			add_text(&stream, environment[i]);
	add_standard(&stream, STDIN_FILENO);
	add_standard(&stream, STDOUT_FILENO);
	*ret_identity = version_stream_finish(&stream);
	return true;
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
