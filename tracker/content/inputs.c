/* Inputs: see inputs.h. */
#include "tracker/content/inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum {
	ENTRIES_BYTES = 4096, /* of a directory at a time */
	ENTRY_UNKNOWN = 0,    /* getdents(2), DT_UNKNOWN */
	LINK_BYTES = 1024,
	CLOCK_STEP_NS = 10000000, /* of files' times: a tick of 100 Hz */
	/* Directories with more are read by their inode numbers (gnulib, fts.c), which are no input. */
	NAMES_IN_ORDER_MAX = 10000,
	NEAR_S = 2, /* some programs reckon in whole seconds */
};

/* ---- one look ---- */

/* What stat tells, as far as programs print it. */
struct details {
	uint64_t dev, ino, mode, nlink, uid, gid, rdev, size_bytes, blocks;
	int64_t mtime_ns, ctime_ns, access_ns;
	uint64_t ages[3]; /* of these */
};

static int64_t nanoseconds(struct timespec time)
{
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Ages from which on a time is printed in another way, with the year instead of the hour: of
 * `find -ls` 180 days, of ls(1) half a year of 31556952 s, of tree(1) 186 days; and of times to come,
 * find's more than an hour ahead.  Which of them lie behind is a number; close to one it is another
 * each time. */
static uint64_t age_of(int64_t time_ns, uint64_t now_ns)
{
	static const int64_t AGES_S[] = { -3600, 15552000, 15778476, 16070400 };
	int64_t age_s = ((int64_t)now_ns - time_ns) / 1000000000;
	uint64_t passed = time_ns <= (int64_t)now_ns;

	for (size_t i = 0; i < sizeof(AGES_S) / sizeof(AGES_S[0]); i++) {
		if (age_s >= AGES_S[i] - NEAR_S && age_s <= AGES_S[i] + NEAR_S)
			return now_ns;
		passed += age_s > AGES_S[i];
	}
	return passed;
}

static void add_stat(struct version_stream *stream, const struct stat *stat, unsigned flags,
		     uint64_t now_ns)
{
	struct stamp stamp = stamp_of(stat);
	int64_t access_ns = flags & INPUT_ACCESS_TIME ? nanoseconds(stat->st_atim) : 0;
	struct details details = {
		.dev = stat->st_dev,
		.ino = stat->st_ino,
		.mode = stat->st_mode,
		.nlink = stat->st_nlink,
		.uid = stat->st_uid,
		.gid = stat->st_gid,
		.rdev = stat->st_rdev,
		.size_bytes = (uint64_t)stat->st_size,
		.blocks = (uint64_t)stat->st_blocks,
		.mtime_ns = stamp.mtime_ns,
		.ctime_ns = stamp.ctime_ns,
		.access_ns = access_ns,
		.ages = { age_of(stamp.mtime_ns, now_ns), age_of(stamp.ctime_ns, now_ns),
			  flags & INPUT_ACCESS_TIME ? age_of(access_ns, now_ns) : 0 },
	};
	version_stream_add(stream, &details, sizeof(details));
}

/* What a name in a directory stands for; of a link, where it leads and what is there. */
static void add_name(struct version_stream *stream, int directory, const char *name, unsigned flags,
		     uint64_t now_ns, struct stamp *ret_stamp)
{
	char target[LINK_BYTES];
	struct stat stat;
	int error = sys_fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW);

	if (error < 0) {
		version_stream_add(stream, &error, sizeof(error));
		return;
	}
	add_stat(stream, &stat, flags, now_ns);
	*ret_stamp = stamp_of(&stat);
	if (!S_ISLNK(stat.st_mode))
		return;
	long length = sys_call6(SYS_readlinkat, directory, (long)name, (long)target, sizeof(target),
				0, 0);
	version_stream_add(stream, &length, sizeof(length));
	if (length > 0)
		version_stream_add(stream, target, (uint64_t)length);
	error = sys_fstatat(directory, name, &stat, 0);
	version_stream_add(stream, &error, sizeof(error));
	if (error == 0)
		add_stat(stream, &stat, flags, now_ns);
}

/* What DT_* are (getdents(2)).  flags: AT_SYMLINK_NOFOLLOW or 0. */
static uint64_t type_of(int directory, const char *name, int flags)
{
	struct stat stat;
	return sys_fstatat(directory, name, &stat, flags) == 0 ? (stat.st_mode & S_IFMT) >> 12
							       : ENTRY_UNKNOWN;
}

/* Of a name, and of what it leads to. */
static struct version owner_of(const char *path)
{
	struct version_stream stream;

	version_stream_init(&stream);
	for (int follows = 0; follows < 2; follows++) {
		struct stat stat = { .st_mode = 0 };
		int error = sys_fstatat(AT_FDCWD, path, &stat, follows ? 0 : AT_SYMLINK_NOFOLLOW);
		uint64_t words[] = { (uint64_t)-error, stat.st_mode, stat.st_uid, stat.st_gid };
		if (error < 0)
			words[1] = words[2] = words[3] = 0;
		version_stream_add(&stream, words, sizeof(words));
	}
	return version_stream_finish(&stream);
}

/* Entries that a program may print, in the order in which it gets them.  ret_count: of those that
 * were inspected. */
static int hash_entries(int directory, const struct input *input, uint64_t now_ns,
			struct version_stream *stream, uint32_t *ret_count)
{
	_Alignas(8) char bytes[ENTRIES_BYTES];
	struct stamp unused;
	uint32_t count = 0, names = 0;

	for (;;) {
		ssize_t got = sys_getdents64(directory, bytes, sizeof(bytes));
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		for (ssize_t at = 0; at < got;) {
			const struct sys_entry *entry = (const void *)(bytes + at);
			const char *name = entry->name;
			bool dot = strcmp(name, ".") == 0, parent = strcmp(name, "..") == 0;
			at += entry->size_bytes;
			if (++names > NAMES_IN_ORDER_MAX)
				return -E2BIG;
			if (parent ? !(input->flags & INPUT_PARENT)
				   : dot && input->kind == INPUT_NAMES)
				continue;
			version_stream_add(stream, name, strlen(name) + 1);
			if (input->kind == INPUT_DETAILS) {
				if (++count > INPUTS_MAX)
					return -E2BIG;
				add_name(stream, directory, name, input->flags, now_ns, &unused);
				continue;
			}
			uint64_t type = entry->type;
			if (type == ENTRY_UNKNOWN)
				type = type_of(directory, name, AT_SYMLINK_NOFOLLOW);
			version_stream_add(stream, &type, sizeof(type));
		}
	}
	*ret_count = count;
	return 0;
}

/* Opened so that this look leaves no access time, where the file is one's own (open(2)). */
static int open_unread(const char *path, int flags)
{
	flags |= O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = sys_open(path, flags | O_NOATIME, 0);

	return fd == -EPERM ? sys_open(path, flags, 0) : fd;
}

static int hash_directory(const char *path, int fd, uint64_t now_ns, struct input *input,
			  uint32_t *ret_count)
{
	struct version_stream stream;
	struct stat stat, other;
	int directory = open_unread(path, O_DIRECTORY);

	if (directory < 0)
		return directory;
	int error = sys_fstat(directory, &stat);
	if (error == 0 && fd >= 0) {
		error = sys_fstat(fd, &other);
		if (error == 0 && (other.st_dev != stat.st_dev || other.st_ino != stat.st_ino))
			error = -EINVAL;
	}
	version_stream_init(&stream);
	if (error == 0)
		error = hash_entries(directory, input, now_ns, &stream, ret_count);
	(void)sys_close(directory);
	if (error < 0)
		return error;
	input->version = version_stream_finish(&stream);
	input->stamp = stamp_of(&stat);
	return 0;
}

/* known: what fstat(2) said; NULL: it is asked. */
static int hash_file(int fd, const struct stat *known, struct input *input)
{
	struct content content;
	struct stat stat;
	int error = known ? 0 : sys_fstat(fd, &stat);

	if (error < 0)
		return error;
	if (!known)
		known = &stat;
	if (!S_ISREG(known->st_mode))
		return -EINVAL;
	if (known->st_size > INPUTS_READ_BYTES_MAX)
		return -E2BIG;
	error = content_of_file(fd, (uint64_t)known->st_size, INPUTS_READ_BYTES_MAX, &content);
	if (error < 0)
		return error == -EFBIG ? -E2BIG : error;
	if (content.version.size_bytes != (uint64_t)known->st_size)
		return -EINVAL;
	input->version = content.version;
	input->stamp = stamp_of(known);
	return 0;
}

/* Inspects a thing as it is now.  input: kind and flags are set; version and stamp are to be. */
static int read_input(const char *path, int fd, const struct stat *known, uint64_t now_ns,
		      struct input *input, uint32_t *ret_count)
{
	struct version_stream stream;
	int opened, error;

	*ret_count = 1;
	switch (input->kind) {
	case INPUT_CONTENT:
		opened = fd < 0 ? open_unread(path, 0) : fd;
		if (opened < 0)
			return opened;
		error = hash_file(opened, fd < 0 ? NULL : known, input);
		if (fd < 0)
			(void)sys_close(opened);
		return error;
	case INPUT_ABSENT:
		opened = open_unread(path, 0);
		if (opened >= 0) {
			(void)sys_close(opened);
			return -EEXIST;
		}
		input->version = (struct version){ .low = (uint64_t)-opened };
		return 0;
	case INPUT_TYPE:
		input->version = (struct version){
			.low = type_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW),
			.high = type_of(AT_FDCWD, path, 0),
		};
		return 0;
	case INPUT_OWNER:
		input->version = owner_of(path);
		return 0;
	case INPUT_NAMES:
	case INPUT_DETAILS:
		return hash_directory(path, fd, now_ns, input, ret_count);
	case INPUT_COMMAND:
		*ret_count = 0;
		return 0;
	case INPUT_WORD:
		version_stream_init(&stream);
		add_name(&stream, AT_FDCWD, path, input->flags, now_ns, &input->stamp);
		input->version = version_stream_finish(&stream);
		return 0;
	default:
		return -EINVAL;
	}
}

/* ---- lists ---- */

int inputs_init(struct inputs *ret_inputs)
{
	long address = sys_mmap(INPUTS_BYTES_MAX, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (address < 0 && address >= -4095)
		return (int)address;
	*ret_inputs = (struct inputs){ .bytes = (char *)address, .now_ns = sys_realtime_ns() };
	return 0;
}

void inputs_clear(struct inputs *inputs)
{
	/* Zeros: of what is added next each size is 0 until it is there. */
	(void)sys_call3(SYS_madvise, (long)inputs->bytes, INPUTS_BYTES_MAX, MADV_DONTNEED);
	inputs->size_bytes = 0;
	inputs->count = 0;
	inputs->read_bytes = 0;
}

void inputs_done(struct inputs *inputs)
{
	if (inputs->bytes)
		(void)sys_munmap(inputs->bytes, INPUTS_BYTES_MAX);
	*inputs = (struct inputs){ 0 };
}

/* The input at an offset, and its path; NULL behind the last one, and where the list is damaged. */
static const struct input *input_at(const struct inputs *inputs, size_t at, const char **ret_path)
{
	const struct input *input = (const void *)(inputs->bytes + at);
	size_t left = inputs->size_bytes - at;

	if (left < sizeof(*input) + 8 || input->size_bytes > left || input->size_bytes % 8 ||
	    input->size_bytes < sizeof(*input) + 8 || input->kind >= INPUT_KINDS)
		return NULL;
	const char *path = (const char *)(input + 1);
	if (!memchr(path, '\0', input->size_bytes - sizeof(*input)))
		return NULL;
	*ret_path = path;
	return input;
}

int inputs_add(struct inputs *inputs, enum input_kind kind, unsigned flags, const char *path,
	       int fd, int error)
{
	return inputs_add_known(inputs, kind, flags, path, fd, NULL, error);
}

/* A place for so many bytes behind what others add meanwhile.  NULL: there is none. */
static struct input *reserve(struct inputs *inputs, size_t size_bytes)
{
	size_t at = __atomic_load_n(&inputs->size_bytes, __ATOMIC_RELAXED);

	do {
		if (at + size_bytes > INPUTS_BYTES_MAX)
			return NULL;
	} while (!__atomic_compare_exchange_n(&inputs->size_bytes, &at, at + size_bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return (void *)(inputs->bytes + at);
}

int inputs_add_known(struct inputs *inputs, enum input_kind kind, unsigned flags, const char *path,
		     int fd, const struct stat *stat, int error)
{
	size_t path_bytes = strlen(path) + 1;
	size_t size_bytes = (sizeof(struct input) + path_bytes + 7) & ~(size_t)7;
	struct input input = { .kind = (uint16_t)kind, .flags = (uint16_t)flags };
	uint32_t count;

	if (!inputs->bytes || __atomic_load_n(&inputs->count, __ATOMIC_RELAXED) >= INPUTS_MAX)
		return -E2BIG;
	/* What failed for the program is taken from it: asking again may succeed. */
	if (kind == INPUT_ABSENT) {
		input.version.low = (uint64_t)error;
		count = 1;
	} else {
		int failed = read_input(path, fd, stat, inputs->now_ns, &input, &count);
		if (failed < 0)
			return failed;
	}
	if (kind != INPUT_COMMAND && !count)
		count = 1;
	uint64_t read_bytes = kind == INPUT_CONTENT ? input.version.size_bytes : 0;
	if (__atomic_add_fetch(&inputs->count, count, __ATOMIC_RELAXED) > INPUTS_MAX ||
	    __atomic_add_fetch(&inputs->read_bytes, read_bytes, __ATOMIC_RELAXED) >
		    INPUTS_READ_BYTES_ALL_MAX)
		return -E2BIG;
	struct input *place = reserve(inputs, size_bytes);
	if (!place)
		return -E2BIG;
	/* Its size is written last: without it the list is damaged. */
	*place = input;
	memcpy(place + 1, path, path_bytes);
	memset((char *)(place + 1) + path_bytes, 0, size_bytes - sizeof(*place) - path_bytes);
	__atomic_store_n(&place->size_bytes, (uint32_t)size_bytes, __ATOMIC_RELEASE);
	return 0;
}

int inputs_add_command(struct inputs *inputs, const char *command)
{
	return inputs_add(inputs, INPUT_COMMAND, 0, command, -1, 0);
}

const char *inputs_command(const struct inputs *inputs)
{
	const struct input *input;
	const char *path;

	for (size_t at = 0; (input = input_at(inputs, at, &path)); at += input->size_bytes)
		if (input->kind == INPUT_COMMAND)
			return path;
	return NULL;
}

/* Its stamp as it is now; of a word its own, of all others what they lead to. */
static bool has_same_stamp(const struct input *input, const char *path)
{
	static const struct stamp NONE;
	struct stat stat;
	int flags = input->kind == INPUT_WORD ? AT_SYMLINK_NOFOLLOW : 0;

	if (sys_fstatat(AT_FDCWD, path, &stat, flags) < 0)
		return stamp_equal(&input->stamp, &NONE);
	struct stamp stamp = stamp_of(&stat);
	return stamp_equal(&stamp, &input->stamp);
}

bool inputs_are_same(const struct inputs *inputs, bool by_content)
{
	const struct input *input;
	const char *path;
	size_t at = 0;

	for (; (input = input_at(inputs, at, &path)); at += input->size_bytes) {
		struct input now = { .kind = input->kind, .flags = input->flags };
		uint32_t count;
		if (input->kind == INPUT_COMMAND)
			continue;
		if (!by_content && input->kind != INPUT_ABSENT && input->kind != INPUT_TYPE &&
		    input->kind != INPUT_OWNER) {
			if (!has_same_stamp(input, path))
				return false;
			continue;
		}
		if (read_input(path, -1, NULL, inputs->now_ns, &now, &count) < 0 ||
		    !version_equal(&now.version, &input->version))
			return false;
	}
	return at == inputs->size_bytes;
}

bool inputs_are_old(const struct inputs *inputs)
{
	const struct input *input;
	const char *path;
	int64_t begin_ns = (int64_t)inputs->now_ns - CLOCK_STEP_NS;

	for (size_t at = 0; (input = input_at(inputs, at, &path)); at += input->size_bytes)
		if (input->stamp.ctime_ns >= begin_ns)
			return false;
	return true;
}

uint32_t inputs_length(const struct inputs *inputs)
{
	const struct input *input;
	const char *path;
	uint32_t length = 0;

	for (size_t at = 0; (input = input_at(inputs, at, &path)); at += input->size_bytes)
		length += input->kind != INPUT_COMMAND;
	return length;
}
