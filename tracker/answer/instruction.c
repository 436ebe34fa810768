/* Instruction files: see instruction.h. */
#include "tracker/answer/instruction.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/answer/proof.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/process/subject.h"
#include "tracker/segment/pair.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	DIRECTORY_PROBES = 64,
	NAMES_BITS = 64,
};

static const struct pair_table INSTRUCTIONS = {
	.table = TABLE_INSTRUCTIONS,
	.slot_bytes = sizeof(struct instruction_slot),
	.time_offset = offsetof(struct instruction_slot, time_ns),
	.attempts = 4,
};

/* ---- names and places ---- */

static const char *next_name(const struct segment *segment, const char *previous)
{
	return segment_text(segment, segment->settings->context_files, previous);
}

static uint64_t bit_of(unsigned number)
{
	return UINT64_C(1) << (number < NAMES_BITS ? number : NAMES_BITS - 1);
}

uint64_t instruction_names_bit(const struct segment *segment, const char *name)
{
	const char *known = NULL;

	for (unsigned number = 0; (known = next_name(segment, known)); number++)
		if (strcmp(known, name) == 0)
			return bit_of(number);
	return 0;
}

bool instruction_is_excluded(const struct segment *segment, const char *path)
{
	return path_matches_list(segment, segment->settings->paths_exclude, path) ||
	       path_matches_list(segment, segment->settings->watch_exclude, path);
}

bool instruction_is_named(const struct segment *segment, const char *path)
{
	const char *name = NULL;
	size_t bytes = strlen(path);

	while ((name = next_name(segment, name))) {
		size_t name_bytes = strlen(name);
		if (bytes > name_bytes && path[bytes - name_bytes - 1] == '/' &&
		    strcmp(path + bytes - name_bytes, name) == 0)
			return path_in_workspace(segment, path) &&
			       !instruction_is_excluded(segment, path);
	}
	return false;
}

/* The slot of a directory in the index, or with make one for it; NULL: there is none. */
static struct instruction_directory_slot *directory_slot(const struct segment *segment,
							 uint64_t key, bool make)
{
	uint64_t capacity = segment->capacity[TABLE_INSTRUCTION_DIRECTORIES];

	for (unsigned probe = 0; probe < DIRECTORY_PROBES; probe++) {
		struct instruction_directory_slot *slot = segment_slot(
			segment, TABLE_INSTRUCTION_DIRECTORIES, (key + probe) % capacity);
		uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
		if (!found && make &&
		    __atomic_compare_exchange_n(&slot->key, &found, key, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return slot;
		if (found == key)
			return slot;
		if (!found)
			break;
	}
	return NULL;
}

int instruction_index_set(const struct segment *segment, const char *directory, uint64_t names)
{
	struct instruction_directory_slot *slot = directory_slot(
		segment, path_key(segment, directory), names != 0);
	if (slot)
		__atomic_store_n(&slot->names, names, __ATOMIC_RELEASE);
	return slot || !names ? 0 : -ENOSPC;
}

void instruction_index_renew(const struct segment *segment, uint64_t for_ns)
{
	uint64_t until_ns = for_ns ? sys_boottime_ns() + for_ns : 0;
	__atomic_store_n(&segment->header->instructions_until_ns, until_ns, __ATOMIC_RELEASE);
}

/* Names in the walk's directory, whose path is given. */
static uint64_t names_in(const struct segment *segment, const char *directory)
{
	const struct instruction_directory_slot *slot = directory_slot(
		segment, path_key(segment, directory), false);
	return slot ? __atomic_load_n(&slot->names, __ATOMIC_ACQUIRE) : 0;
}

void instruction_walk_init(const struct segment *segment, const char *path, bool is_directory,
			   bool by_index, struct instruction_walk *ret_walk)
{
	const char *relative = path_relative(segment, path);
	uint64_t until_ns = __atomic_load_n(&segment->header->instructions_until_ns,
					    __ATOMIC_ACQUIRE);
	bool is_root = relative == path && path_in_workspace(segment, path);

	*ret_walk = (struct instruction_walk){
		.path = path,
		.is_directory = is_directory,
		.by_index = by_index && until_ns && sys_boottime_ns() < until_ns,
		.ended = relative == path && !(is_root && is_directory),
	};
	if (is_root)
		ret_walk->directory_bytes = strcmp(path, "/") == 0 ? 0 : strlen(path);
	else
		ret_walk->directory_bytes = relative > path ? (size_t)(relative - path) - 1 : 0;
}

/* Goes one directory down. */
static void descend(struct instruction_walk *walk)
{
	size_t length = strlen(walk->path), next = walk->directory_bytes + 1;

	walk->name = NULL;
	walk->number = 0;
	if (next >= length) { /* that was the path itself; or it is "/" */
		walk->ended = true;
		return;
	}
	const char *slash = strchr(walk->path + next, '/');
	walk->directory_bytes = slash ? (size_t)(slash - walk->path) : length;
	walk->ended = !slash && !walk->is_directory;
}

bool instruction_walk_next(const struct segment *segment, struct instruction_walk *walk,
			   char *ret_path, size_t capacity)
{
	for (; !walk->ended; descend(walk)) {
		size_t bytes = walk->directory_bytes;
		if (bytes + 2 > capacity)
			continue;
		memcpy(ret_path, walk->path, bytes);
		if (!walk->name) {
			memcpy(ret_path + bytes, bytes ? "" : "/", bytes ? 1 : 2);
			walk->names = walk->by_index ? names_in(segment, ret_path) : UINT64_MAX;
		}
		while ((walk->name = next_name(segment, walk->name))) {
			size_t name_bytes = strlen(walk->name) + 1;
			/* A name with a directory in it is in no index. */
			bool may_be = walk->names & bit_of(walk->number++) ||
				      strchr(walk->name, '/');
			if (!may_be || bytes + 1 + name_bytes > capacity)
				continue;
			ret_path[bytes] = '/';
			memcpy(ret_path + bytes + 1, walk->name, name_bytes);
			if (!instruction_is_excluded(segment, ret_path))
				return true;
		}
	}
	return false;
}

int instruction_open(const struct segment *segment, const char *path, struct stat *ret_stat)
{
	char real[SEGMENT_PATH_BYTES];
	int error = 0;

	/* Not blocking: it may be a FIFO. */
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ssize_t length = subject_link(SUBJECT_SELF, fd, real, sizeof(real));
	if (sys_fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode))
		error = -EINVAL;
	else if (length <= 0 || !path_in_workspace(segment, real) ||
		 instruction_is_excluded(segment, real))
		error = -EXDEV;
	else if (ret_stat->st_size > INSTRUCTION_BYTES_MAX)
		error = -EFBIG;
	if (error == 0)
		return fd;
	(void)sys_close(fd);
	return error;
}

int instruction_header(const struct segment *segment, const char *path, char *ret_text,
		       size_t capacity)
{
	static const char BEGIN[] = "[Loaded from ", END[] = "]\n";
	const char *relative = path_relative(segment, path);
	size_t used = sizeof(BEGIN) - 1;

	if (capacity < sizeof(BEGIN) + 2)
		return -ENAMETOOLONG;
	memcpy(ret_text, BEGIN, used);
	if (!strchr(relative, '/')) {
		memcpy(ret_text + used, "./", 2);
		used += 2;
	}
	int length = path_escape(relative, ret_text + used, capacity - used);
	if (length < 0)
		return length;
	used += (size_t)length;
	if (capacity - used < sizeof(END))
		return -ENAMETOOLONG;
	memcpy(ret_text + used, END, sizeof(END));
	return (int)(used + sizeof(END) - 1);
}

/* ---- what was given ---- */

static uint64_t key_of(uint64_t dev, uint64_t ino, const struct version *version)
{
	const uint64_t words[] = { dev, ino, version->low, version->high, version->size_bytes };
	uint64_t key = XXH3_64bits(words, sizeof(words));
	return key ? key : 1;
}

static bool is_of(const struct instruction_slot *slot, uint64_t dev, uint64_t ino,
		  const struct version *version)
{
	return slot->dev == dev && slot->ino == ino && version_equal(&slot->version, version);
}

/* The command has ended within its limit: that is so however many commands follow, whose slots take
 * its place. */
static void complete_delivery(const struct segment *segment, const struct instruction_slot *given)
{
	struct instruction_slot copy;
	struct instruction_slot *slot = pair_hold(segment, &INSTRUCTIONS, given->scope_id,
						  given->key, false, &copy);
	if (!slot)
		return;
	if (copy.command_id == given->command_id)
		copy.command_id = DELIVERY_UNCUT;
	slot_commit(slot, &copy, sizeof(copy));
}

bool instruction_is_given(const struct segment *segment, const struct moment *moment, uint64_t dev,
			  uint64_t ino, const struct version *version,
			  const struct output_limits *limits)
{
	struct instruction_slot slot;

	if (!moment->scope_epoch ||
	    !pair_read(segment, &INSTRUCTIONS, moment->scope_id, key_of(dev, ino, version),
		       &slot) ||
	    !is_of(&slot, dev, ino, version) || !slot.command_id ||
	    slot.session_epoch != moment->session_epoch || slot.scope_epoch != moment->scope_epoch)
		return false;
	if (slot.command_id == DELIVERY_UNCUT)
		return true;
	bool is_proven = moment->scope_flags & SCOPE_PROVES;
	struct moment given = { .scope_id = slot.scope_id,
				.command_id = slot.command_id,
				.time_ns = slot.time_ns };
	/* Until its proof is due it is not given twice, and is not reported. */
	if (is_proven && moment->time_ns < slot.time_ns + PROOF_WAIT_NS &&
	    proof_of_command(segment, slot.command_id) == PROOF_NONE)
		return true;
	if (command_grade(segment, &given, moment, limits) == GRADE_NONE)
		return false;
	/* What a proof says may change. */
	if (slot.command_id != moment->command_id && !is_proven)
		complete_delivery(segment, &slot);
	return true;
}

int instruction_record(const struct segment *segment, const struct moment *moment, uint64_t dev,
		       uint64_t ino, const struct version *version)
{
	struct instruction_slot copy;

	if (!moment->scope_epoch)
		return -ENOENT;
	struct instruction_slot *slot = pair_hold(segment, &INSTRUCTIONS, moment->scope_id,
						  key_of(dev, ino, version), true, &copy);
	if (!slot) {
		segment_count(segment, COUNTER_lost_instructions, 1);
		return -ENOSPC;
	}
	bool is_again = copy.command_id && copy.session_epoch == moment->session_epoch &&
			copy.scope_epoch == moment->scope_epoch;
	copy.session_epoch = moment->session_epoch;
	copy.scope_epoch = moment->scope_epoch;
	copy.command_id = moment->command_id;
	copy.dev = dev;
	copy.ino = ino;
	copy.version = *version;
	copy.time_ns = moment->time_ns;
	slot_commit(slot, &copy, sizeof(copy));
	if (!is_again)
		segment_count(segment, COUNTER_instructions_given, 1);
	return 0;
}

unsigned instruction_forget(const struct segment *segment, uint64_t scope_id, uint64_t dev,
			    uint64_t ino)
{
	unsigned invalidated = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_INSTRUCTIONS]; i++) {
		struct instruction_slot *slot = segment_slot(segment, TABLE_INSTRUCTIONS, i);
		struct instruction_slot copy;
		uint64_t owner = __atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED);
		if (!owner || (scope_id && owner != scope_id) ||
		    __atomic_load_n(&slot->ino, __ATOMIC_RELAXED) != ino ||
		    __atomic_load_n(&slot->dev, __ATOMIC_RELAXED) != dev)
			continue;
		if (!slot_acquire_surely(slot, &copy, sizeof(copy)))
			continue;
		bool is_it = copy.dev == dev && copy.ino == ino &&
			     (!scope_id || copy.scope_id == scope_id);
		if (is_it) {
			invalidated += copy.command_id != 0;
			copy.command_id = 0;
			slot_commit(slot, &copy, sizeof(copy));
		} else {
			slot_abandon(slot, &copy, sizeof(copy));
		}
	}
	return invalidated;
}
