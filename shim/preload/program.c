/* The program file that a call of exec names: see program.h. */
#include "shim/preload/program.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/keep/scratch.h"
#include "shim/preload/state.h"
#include "tracker/sys/sys.h"

extern char **environ;

enum {
	HEAD_BYTES = 1024,
	FIRST_LINE_BYTES = 256,            /* of a script that the kernel reads (execve(2)) */
	INTERPRETERS_MAX = 4,              /* that the kernel follows (execve(2)) */
	PROGRAM_NOTES = SEGMENT_NOTES / 2, /* the first ones; the others are attach.c's */
	NOTE_PLACES = 4,                   /* of which a file has one */
	/* the low bits of a note */
	NOTE_KIND = 15,
	NOTE_PRIVILEGES = 16,
	NOTE_BITS = 32,
};
_Static_assert((int)IMAGE_KINDS <= (int)NOTE_KIND, "a kind fits a note");

/* What a file was found to be, noted for all processes: its kind, and a hash of all that tells that
 * the file is still the same.  The first of the places where that may stand; NULL: nowhere. */
static uint64_t *notes_of(const struct stat *stat, uint64_t *ret_key)
{
	const uint64_t words[] = { stat->st_dev,
				   stat->st_ino,
				   stat->st_mode,
				   (uint64_t)stat->st_size,
				   (uint64_t)stat->st_ctim.tv_sec,
				   (uint64_t)stat->st_ctim.tv_nsec,
				   (uint64_t)stat->st_mtim.tv_sec,
				   (uint64_t)stat->st_mtim.tv_nsec };
	uint64_t *notes = segment_notes(&shim.segment), key = 1;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		key = (key ^ words[i]) * 0x9e3779b97f4a7c15u;
		key ^= key >> 29;
	}
	*ret_key = (key & ~(uint64_t)(NOTE_BITS - 1)) | (uint64_t)1 << 63; /* none is 0 */
	return notes ? &notes[(key >> 32) % (PROGRAM_NOTES / NOTE_PLACES) * NOTE_PLACES] : NULL;
}

static bool recall(const uint64_t *notes, uint64_t key, struct program_file *ret_file)
{
	for (unsigned place = 0; notes && place < NOTE_PLACES; place++) {
		uint64_t noted = __atomic_load_n(&notes[place], __ATOMIC_RELAXED);
		if ((noted & ~(uint64_t)(NOTE_BITS - 1)) != key ||
		    (noted & NOTE_KIND) >= IMAGE_KINDS)
			continue;
		ret_file->kind = (enum image_kind)(noted & NOTE_KIND);
		ret_file->gains_privileges = noted & NOTE_PRIVILEGES;
		return true;
	}
	return false;
}

/* In an empty place, else in one that the file itself chooses: those of files that come by turns are not all
 * the same. */
static void note(uint64_t *notes, uint64_t key, const struct program_file *file)
{
	unsigned place = 0;

	while (place < NOTE_PLACES && __atomic_load_n(&notes[place], __ATOMIC_RELAXED))
		place++;
	if (place == NOTE_PLACES)
		place = (unsigned)(key >> 8) % NOTE_PLACES;
	__atomic_store_n(&notes[place],
			 key | (uint64_t)file->kind |
				 (file->gains_privileges ? NOTE_PRIVILEGES : 0),
			 __ATOMIC_RELAXED);
}

char *program_search(const char *name)
{
	const char *path = variable(environ, "PATH");
	char *found = scratch_acquire();
	size_t length = strlen(name);
	struct stat stat;

	for (path = path ? path : "/bin:/usr/bin"; found;) {
		size_t directory = strcspn(path, ":");

		if (directory + 1 + length < SEGMENT_PATH_BYTES) {
			memcpy(found, path, directory);
			found[directory] = '/';
			memcpy(found + directory + (directory > 0), name, length + 1);
			if (sys_call6(SYS_faccessat, AT_FDCWD, (long)found, X_OK, 0, 0, 0) == 0 &&
			    sys_stat(found, &stat) == 0 && S_ISREG(stat.st_mode))
				return found;
		}
		if (!path[directory])
			break;
		path += directory + 1;
	}
	scratch_release(found);
	return NULL;
}

/* Opens a file to read its beginning.  A descriptor that execs itself may be one of O_PATH. */
static int open_file(int directory, const char *path)
{
	enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
	static const char PREFIX[] = "/proc/self/fd/";
	char link[sizeof(PREFIX) + 12], digits[12];
	size_t at = sizeof(digits);

	if (path[0])
		return sys_openat(directory, path, FLAGS, 0);
	for (unsigned rest = (unsigned)directory; at == sizeof(digits) || rest; rest /= 10)
		digits[--at] = (char)('0' + rest % 10);
	memcpy(link, PREFIX, sizeof(PREFIX) - 1);
	memcpy(link + sizeof(PREFIX) - 1, digits + at, sizeof(digits) - at);
	link[sizeof(PREFIX) - 1 + sizeof(digits) - at] = '\0';
	return sys_open(link, FLAGS, 0);
}

/* One file.  Returns the length of the interpreter's path, which is written, where it is a
 * script. */
static size_t classify_one(int directory, const char *path, struct program_file *ret_file,
			   char *ret_interpreter)
{
	_Alignas(8) char head[HEAD_BYTES];
	struct stat stat; /* opening a FIFO would wake its writer */
	uint64_t key;

	if (sys_fstatat(directory, path, &stat, AT_EMPTY_PATH) < 0 || !S_ISREG(stat.st_mode))
		return 0;
	uint64_t *notes = notes_of(&stat, &key);
	if (recall(notes, key, ret_file))
		return 0;
	int fd = open_file(directory, path);
	if (fd < 0)
		return 0;
	ssize_t length = sys_pread(fd, head, sizeof(head) - 1, 0);
	head[length > 0 ? length : 0] = '\0';
	if (head[0] == '#' && head[1] == '!') {
		(void)sys_close(fd);
		const char *name = head + 2 + strspn(head + 2, " \t");
		size_t bytes = strcspn(name, " \t\n");
		if (bytes >= FIRST_LINE_BYTES)
			return 0;
		memcpy(ret_interpreter, name, bytes);
		ret_interpreter[bytes] = '\0';
		return bytes;
	}
	if (length > 0) {
		ret_file->kind = image_classify(fd, path, (uint64_t)stat.st_size, head,
						(size_t)length);
		ret_file->gains_privileges = image_gains_privileges(fd, &stat);
	}
	(void)sys_close(fd);
	if (length >= 0 && notes)
		note(notes, key, ret_file);
	return 0;
}

struct program_file program_classify(struct program_place place)
{
	struct program_file file = { IMAGE_UNKNOWN, false };
	char interpreters[2][FIRST_LINE_BYTES];
	char *found = place.searches && !strchr(place.path, '/') ? program_search(place.path)
								 : NULL;
	const char *path = found ? found : place.path;
	int directory = place.directory == PROGRAM_DIRECTORY_UNKNOWN ? AT_FDCWD : place.directory;

	if (place.searches && !found && !strchr(place.path, '/'))
		return file;
	for (int level = 0; level <= INTERPRETERS_MAX; level++) {
		char *next = interpreters[level % 2];
		if (!classify_one(directory, path, &file, next))
			break;
		path = next;
		directory = AT_FDCWD;
	}
	scratch_release(found);
	return file;
}
