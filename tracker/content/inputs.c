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
};

static const uint64_t HALF_YEAR_NS = 15778476u *
				     UINT64_C(1000000000); /* of ls(1): 31556952 s / 2 */

/* ---- one look ---- */

/* What stat tells, as far as programs print it. */
struct details {
	uint64_t dev, ino, mode, nlink, uid, gid, rdev, size_bytes, blocks;
	int64_t mtime_ns, ctime_ns, access_ns;
	uint64_t recent;
};

static int64_t nanoseconds(struct timespec time)
{
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The time of a file of the last half year has the hour, of another one the year. */
static uint64_t is_recent(int64_t time_ns, uint64_t now_ns)
{
	return time_ns <= (int64_t)now_ns && time_ns > (int64_t)(now_ns - HALF_YEAR_NS);
}

static void add_stat(struct version_stream *stream, const struct stat *stat, unsigned flags,
		     uint64_t now_ns)
{
	struct stamp stamp = stamp_of(stat);
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
		.access_ns = flags & INPUT_ACCESS_TIME ? nanoseconds(stat->st_atim) : 0,
		.recent = is_recent(stamp.mtime_ns, now_ns) | is_recent(stamp.ctime_ns, now_ns)
								      << 1,
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
	uint32_t count = 0;

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

static int hash_directory(const char *path, int fd, uint64_t now_ns, struct input *input,
			  uint32_t *ret_count)
{
	struct version_stream stream;
	struct stat stat, other;
	int directory = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
				 0);

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

static int open_file(const char *path)
{
	return sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
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
		opened = fd < 0 ? open_file(path) : fd;
		if (opened < 0)
			return opened;
		error = hash_file(opened, fd < 0 ? NULL : known, input);
		if (fd < 0)
			(void)sys_close(opened);
		return error;
	case INPUT_ABSENT:
		opened = open_file(path);
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

int inputs_add_known(struct inputs *inputs, enum input_kind kind, unsigned flags, const char *path,
		     int fd, const struct stat *stat, int error)
{
	size_t path_bytes = strlen(path) + 1;
	size_t size_bytes = (sizeof(struct input) + path_bytes + 7) & ~(size_t)7;
	struct input *input = (void *)(inputs->bytes + inputs->size_bytes);
	uint32_t count;

	if (!inputs->bytes || inputs->size_bytes + size_bytes > INPUTS_BYTES_MAX ||
	    inputs->count >= INPUTS_MAX)
		return -E2BIG;
	*input = (struct input){ .size_bytes = (uint32_t)size_bytes,
				 .kind = (uint16_t)kind,
				 .flags = (uint16_t)flags };
	/* What failed for the program is taken from it: asking again may succeed. */
	if (kind == INPUT_ABSENT) {
		input->version.low = (uint64_t)error;
		count = 1;
	} else {
		int failed = read_input(path, fd, stat, inputs->now_ns, input, &count);
		if (failed < 0)
			return failed;
	}
	if (kind != INPUT_COMMAND && !count)
		count = 1;
	if (inputs->count + count > INPUTS_MAX)
		return -E2BIG;
	if (kind == INPUT_CONTENT)
		inputs->read_bytes += input->version.size_bytes;
	if (inputs->read_bytes > INPUTS_READ_BYTES_ALL_MAX)
		return -E2BIG;
	memcpy(input + 1, path, path_bytes);
	memset((char *)(input + 1) + path_bytes, 0, size_bytes - sizeof(*input) - path_bytes);
	inputs->size_bytes += size_bytes;
	inputs->count += count;
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

/* ---- which programs ---- */

enum tells {
	TELLS_CONTENT, /* what is in its files, and their names */
	TELLS_NAMES,   /* what is in directories: with these options, names and types alone */
	TELLS_DETAILS,
	TELLS_SEARCH, /* what is in its files, and whether others are there */
	TELLS_GIT,
};

/* Programs whose output depends on what they open and list, and on their words, and on nothing
 * else.  Not here: bfs, which does it in several threads; readlink and realpath, which
 * follow links on the way. */
static const struct {
	const char *name;
	enum tells tells;
	const char *names; /* NAMES: short options */
} PROGRAMS[] = {
	{ "cat", TELLS_CONTENT, NULL },
	{ "cksum", TELLS_CONTENT, NULL },
	{ "cmp", TELLS_CONTENT, NULL },
	{ "comm", TELLS_CONTENT, NULL },
	{ "cut", TELLS_CONTENT, NULL },
	{ "diff", TELLS_DETAILS, NULL },
	{ "du", TELLS_DETAILS, NULL },
	{ "egrep", TELLS_CONTENT, NULL },
	{ "fgrep", TELLS_CONTENT, NULL },
	{ "find", TELLS_NAMES, NULL },
	{ "fold", TELLS_CONTENT, NULL },
	{ "git", TELLS_GIT, NULL },
	{ "grep", TELLS_CONTENT, NULL },
	{ "head", TELLS_CONTENT, NULL },
	{ "hexdump", TELLS_CONTENT, NULL },
	{ "ls", TELLS_NAMES, "aA1CmxqQNbBR" },
	{ "md5sum", TELLS_CONTENT, NULL },
	{ "nl", TELLS_CONTENT, NULL },
	{ "od", TELLS_CONTENT, NULL },
	{ "paste", TELLS_CONTENT, NULL },
	{ "rev", TELLS_CONTENT, NULL },
	{ "rg", TELLS_SEARCH, NULL }, /* search_order.h: where it has one thread */
	{ "sed", TELLS_CONTENT, NULL },
	{ "sha1sum", TELLS_CONTENT, NULL },
	{ "sha256sum", TELLS_CONTENT, NULL },
	{ "sha512sum", TELLS_CONTENT, NULL },
	{ "sort", TELLS_CONTENT, NULL },
	{ "stat", TELLS_DETAILS, NULL },
	{ "strings", TELLS_CONTENT, NULL },
	{ "tac", TELLS_CONTENT, NULL },
	{ "tail", TELLS_CONTENT, NULL },
	{ "tree", TELLS_DETAILS, NULL }, /* where links lead */
	{ "ugrep", TELLS_SEARCH, NULL }, /* likewise */
	{ "uniq", TELLS_CONTENT, NULL },
	{ "wc", TELLS_CONTENT, NULL },
	{ "xxd", TELLS_CONTENT, NULL },
};

/* Tests and actions of find(1) that know of a file its name and type alone. */
static bool find_needs_names(char *const argv[])
{
	static const char *const WORDS[] = {
		"-name",  "-iname",  "-path",      "-ipath", "-wholename", "-iwholename",
		"-regex", "-iregex", "-regextype", "-type",  "-maxdepth",  "-mindepth",
		"-prune", "-print",  "-print0",    "-o",     "-a",         "-or",
		"-and",   "-not",    "-depth",     "-P",     "-true",      "-false",
	};
	for (size_t i = 1; argv[i]; i++) {
		bool known = argv[i][0] != '-' || !argv[i][1];
		for (size_t k = 0; !known && k < sizeof(WORDS) / sizeof(WORDS[0]); k++)
			known = strcmp(argv[i], WORDS[k]) == 0;
		if (!known)
			return false;
	}
	return true;
}

static bool needs_names(const char *options, char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		const char *word = argv[i];
		if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
			continue; /* behind `--`, too, an option's letters are inspected: that is the safe side */
		if (word[1 + strspn(word + 1, options)])
			return false;
	}
	return true;
}

/* Does an option speak of when a file was last read? */
static bool names_access_time(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		const char *word = argv[i];
		if (word[0] == '-' &&
		    (word[1] == '-' ? strncmp(word, "--time", 6) == 0 : strchr(word, 'u') != NULL))
			return true;
	}
	return false;
}

/* Is one of a program's short options given? */
static bool has_letter(char *const argv[], const char *letters)
{
	for (size_t i = 1; argv[i]; i++)
		if (argv[i][0] == '-' && (argv[i][1] == '-' || strpbrk(argv[i], letters)))
			return true;
	return false;
}

/* A word that stands for the standard input, which is not inspected: stat(1) describes it and does
 * not read it. */
static bool names_stdin(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++)
		if (strcmp(argv[i], "-") == 0)
			return true;
	return false;
}

/* Does sort(1) put lines in an order of chance?  -R, among other letters and in a key,
 * --random-sort, --sort=random, abbreviated. */
static bool sorts_by_chance(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		const char *word = argv[i];
		if (strncmp(word, "--ra", 4) == 0 || strncmp(word, "--so", 4) == 0 ||
		    ((word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) && strchr(word, 'R')))
			return true;
	}
	return false;
}

bool inputs_needed(const char *name, char *const argv[], struct inputs_needed *ret_plan)
{
	bool is_ls = strcmp(name, "ls") == 0, is_find = strcmp(name, "find") == 0;

	if (!argv[0] || names_stdin(argv) || (strcmp(name, "sort") == 0 && sorts_by_chance(argv)))
		return false;
	for (size_t i = 0; i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++) {
		if (strcmp(name, PROGRAMS[i].name) != 0)
			continue;
		ret_plan->is_git = PROGRAMS[i].tells == TELLS_GIT;
		ret_plan->asks = PROGRAMS[i].tells == TELLS_SEARCH || ret_plan->is_git;
		ret_plan->content = PROGRAMS[i].tells == TELLS_CONTENT || ret_plan->asks;
		ret_plan->details = PROGRAMS[i].tells == TELLS_DETAILS;
		if (PROGRAMS[i].tells == TELLS_NAMES)
			ret_plan->details = PROGRAMS[i].names
						    ? !needs_names(PROGRAMS[i].names, argv)
						    : !find_needs_names(argv);
		ret_plan->flags = 0;
		if (strcmp(name, "stat") == 0 || (is_find && ret_plan->details) ||
		    ((is_ls || strcmp(name, "du") == 0) && names_access_time(argv)))
			ret_plan->flags |= INPUT_ACCESS_TIME;
		if (is_ls && has_letter(argv, "af"))
			ret_plan->flags |= INPUT_PARENT;
		return true;
	}
	return false;
}
