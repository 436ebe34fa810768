/* Files of transcripts: see transcript_file.h. */
#include "cli/agents/transcript_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/agents/compactions.h"
#include "cli/agents/transcript_store.h"
#include "cli/session/invalidation.h"
#include "tracker/segment/slot.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	TAIL_BYTES = 64, /* before what was read: tells whether it is still what it was */
	LINE_BYTES_MAX = 64 << 20,
	/*
	 * What was written to a database is announced before it is readable: by the shared memory
	 * of its writers, which no event reports.  So it is read again after the first time, each time
	 * that much later than the last, until the last.
	 */
	AGAIN_FIRST_MS = 5,
	AGAIN_TIMES = 4,
	AGAIN_LAST_MS = 500,
	RESTS = 3, /* times as long as the last reading took: a long conversation's takes a quarter of a processor at most */
};

static const uint64_t MILLISECOND_NS = 1000000;

/* ---- whose it is ---- */

static bool has_open_to_write(uint32_t pid, const char *path)
{
	char name[64], target[PATH_MAX], text[256];
	bool found = false;

	(void)snprintf(name, sizeof(name), "/proc/%u/fd", pid);
	DIR *directory = opendir(name);
	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, target,
					    sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (strcmp(target, path) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "/proc/%u/fdinfo/%.16s", pid, entry->d_name);
		const char *flags = sys_read_file(name, text, sizeof(text)) > 0
					    ? strstr(text, "flags:")
					    : NULL;
		found = flags &&
			(strtoul(flags + sizeof("flags:") - 1, NULL, 8) & O_ACCMODE) != O_RDONLY;
	}
	if (directory)
		(void)closedir(directory);
	return found;
}

void transcripts_each_scope(const struct transcripts *transcripts, uint64_t profiles,
			    void (*callback)(const struct scope_slot *scope, void *data),
			    void *data)
{
	const struct segment *segment = transcripts->segment;
	struct scope_slot copy;

	SEGMENT_EACH_USED (segment, TABLE_SCOPES, i) {
		const struct scope_slot *slot = segment_slot(segment, TABLE_SCOPES, i);
		if (__atomic_load_n(&slot->id, __ATOMIC_RELAXED) &&
		    slot_read(slot, &copy, SCOPE_CHECKED_BYTES) && copy.id && copy.profile &&
		    copy.profile <= SETTINGS_PROFILES_MAX && (profiles >> (copy.profile - 1) & 1))
			callback(&copy, data);
	}
}

struct compaction {
	const struct transcripts *transcripts;
	const char *path;
	bool only_writers, found_writer;
	char cause[PATH_MAX + 32];
};

static void find_writer(const struct scope_slot *scope, void *data)
{
	struct compaction *compaction = data;
	compaction->found_writer = compaction->found_writer ||
				   has_open_to_write(scope->anchor_pid, compaction->path);
}

static void forget(const struct scope_slot *scope, void *data)
{
	const struct compaction *compaction = data;
	const struct transcripts *transcripts = compaction->transcripts;

	if (compaction->only_writers && !has_open_to_write(scope->anchor_pid, compaction->path))
		return;
	if (scope_new_epoch(transcripts->segment, scope->id) == 0)
		invalidation_record(transcripts->journal, scope->id, NULL, compaction->cause);
}

/* The conversation that a transcript records is not what it was: that of the agents that hold the
 * file open for writing, where there are such, else of all that it may be. */
static void compacted(const struct transcripts *transcripts, const struct transcript_file *file)
{
	struct compaction compaction = { .transcripts = transcripts, .path = file->path };

	(void)snprintf(compaction.cause, sizeof(compaction.cause), "compaction in %s", file->path);
	transcripts_each_scope(transcripts, file->rule->profiles, find_writer, &compaction);
	compaction.only_writers = compaction.found_writer;
	transcripts_each_scope(transcripts, file->rule->profiles, forget, &compaction);
}

/* ---- what is new in a transcript ---- */

static bool is_counted(const struct transcript_file *file, uint64_t hash)
{
	for (size_t i = 0; i < file->compaction_count; i++)
		if (file->compactions[i] == hash)
			return true;
	return false;
}

/* Does the agent's first conversation in this run begin with the line at which the file is?  Gemini
 * CLI writes what it tells the model at first as it writes a history that was cut.  In a second
 * transcript the same may be a conversation that was cleared. */
static bool is_beginning(const struct transcripts *transcripts, const struct transcript_file *file)
{
	for (size_t i = 0; i < transcripts->file_count; i++) {
		const struct transcript_file *other = &transcripts->files[i];
		if (other != file && (other->rule->profiles & file->rule->profiles) &&
		    (other->heard || other->touched))
			return false;
	}
	return file->lines < TRANSCRIPT_HEAD_LINES;
}

/* A line, or the beginning of one, that may report a compaction.  A transcript that is written anew
 * holds lines that counted already. */
static void read_marker(const struct transcripts *transcripts, struct transcript_file *file,
			const char *line, size_t length)
{
	if (!compactions_line_matches(line, length, file->rule->markers, false))
		return;
	uint64_t hash = XXH3_64bits(line, length);
	if (is_counted(file, hash))
		return;
	uint64_t *grown = realloc(file->compactions,
				  (file->compaction_count + 1) * sizeof(*file->compactions));
	if (grown) {
		file->compactions = grown;
		file->compactions[file->compaction_count++] = hash;
	}
	if (!is_beginning(transcripts, file) ||
	    compactions_line_matches(line, length, file->rule->markers, true))
		compacted(transcripts, file);
}

/* A whole line that may be an entry of a conversation. */
static void read_entry(const struct transcripts *transcripts, struct transcript_file *file,
		       const char *line, size_t length)
{
	struct entry entry;

	entry_parse(line, length, &entry);
	if (entry.time_ns)
		file->said_ns = entry.time_ns;
	if (entry.is_known && !file->findings)
		file->findings = conversations_findings(transcripts->conversations,
							file->rule->profiles);
	if (entry.is_known && file->findings) {
		bool is_old = file->said_ns && file->said_ns < transcripts->since_ns;
		conversations_add(file->findings, &entry, is_old);
		if (entry.cleared && !is_old)
			compacted(transcripts, file);
	}
	entry_done(&entry);
}

/* A line at an offset, or the beginning of one. */
static void read_line(const struct transcripts *transcripts, struct transcript_file *file,
		      const char *line, size_t length, uint64_t offset, bool is_whole)
{
	while (length && strchr(" \t\r", line[length - 1]))
		length--;
	if (is_whole && length)
		read_entry(transcripts, file, line, length);
	if (offset >= file->old_bytes || (file->said_ns && file->said_ns >= transcripts->since_ns))
		read_marker(transcripts, file, line, length);
}

/* The lines that are whole, and the rest where it is one without its newline.  Returns bytes that
 * are done with. */
static size_t read_lines(const struct transcripts *transcripts, struct transcript_file *file,
			 const char *bytes, size_t count)
{
	size_t at = 0;

	for (const char *newline; (newline = memchr(bytes + at, '\n', count - at));) {
		size_t length = (size_t)(newline - bytes) - at;
		if (file->skips)
			file->skips = false;
		else
			read_line(transcripts, file, bytes + at, length, file->offset + at, true);
		file->lines += file->lines < TRANSCRIPT_HEAD_LINES;
		at += length + 1;
	}
	if (!file->skips && at < count)
		read_line(transcripts, file, bytes + at, count - at, file->offset + at, false);
	return at;
}

/* Hash of the bytes before an offset. */
static uint64_t tail_at(int fd, uint64_t offset)
{
	char bytes[TAIL_BYTES];
	size_t count = offset < TAIL_BYTES ? offset : TAIL_BYTES;
	ssize_t got = pread(fd, bytes, count, (off_t)(offset - count));

	return XXH3_64bits(bytes, got > 0 ? (size_t)got : 0);
}

static void read_new(struct transcripts *transcripts, struct transcript_file *file, int fd,
		     uint64_t size)
{
	while (file->offset < size) {
		size_t count = size - file->offset < LINE_BYTES_MAX ? size - file->offset
								    : LINE_BYTES_MAX;
		char *bytes = malloc(count);
		if (!bytes)
			return;
		ssize_t got = pread(fd, bytes, count, (off_t)file->offset);
		size_t done = got > 0 ? read_lines(transcripts, file, bytes, (size_t)got) : 0;
		if (!done && got == LINE_BYTES_MAX) {
			/* Whatever so long a line says, it may be that. */
			if (!file->skips)
				compacted(transcripts, file);
			file->skips = true;
			done = (size_t)got;
		}
		free(bytes);
		file->offset += done;
		if (!done)
			break;
	}
}

/* Opens a transcript.  Returns a descriptor, or a negative errno. */
static int open_file(const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode))
		return fd;
	(void)close(fd);
	return -EINVAL;
}

static bool is_store(const char *path)
{
	static const char ENDING[] = ".db";
	size_t length = strlen(path), ending = sizeof(ENDING) - 1;

	return length > ending && strcmp(path + length - ending, ENDING) == 0;
}

/* Where the line begins that is half written at an offset; it is found where it is short. */
static uint64_t line_before(int fd, uint64_t offset)
{
	char bytes[4096];
	size_t count = offset < sizeof(bytes) ? offset : sizeof(bytes);
	ssize_t got = pread(fd, bytes, count, (off_t)(offset - count));
	const char *newline = got == (ssize_t)count ? memrchr(bytes, '\n', count) : NULL;

	if (newline)
		return offset - (uint64_t)(bytes + count - newline - 1);
	return count == offset ? 0 : offset;
}

void transcript_file_start(const struct transcripts *transcripts, struct transcript_file *file)
{
	struct stat stat = { 0 };
	int fd = open_file(file->path, &stat);

	if (fd < 0)
		return;
	file->dev = stat.st_dev;
	file->ino = stat.st_ino;
	/* What was written to in this run is read from its beginning: the run's part of it, and
	 * what that goes on from. */
	uint64_t written_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000 +
			      (uint64_t)stat.st_mtim.tv_nsec;
	if (written_ns >= transcripts->since_ns || is_store(file->path)) {
		file->touched = true;
		file->old_bytes = (uint64_t)stat.st_size;
		file->lines = 0;
	} else {
		file->offset = line_before(fd, (uint64_t)stat.st_size);
	}
	file->tail = tail_at(fd, file->offset);
	(void)close(fd);
}

static void inspect_store(struct transcripts *transcripts, struct transcript_file *file)
{
	uint64_t begin_ns = sys_boottime_ns();

	if (begin_ns < file->rests_ns) {
		file->again_ms = AGAIN_FIRST_MS;
		file->again_ns = file->rests_ns;
		return;
	}
	if (!file->store)
		file->store = transcript_store_new(transcripts->conversations, file->rule->profiles,
						   transcripts->since_ns);
	file->heard = true;
	if (file->store)
		transcript_store_read(file->store, file->path);
	uint64_t end_ns = sys_boottime_ns();
	file->rests_ns = end_ns + RESTS * (end_ns - begin_ns);
	file->again_ms = file->again_ms ? AGAIN_TIMES * file->again_ms : AGAIN_FIRST_MS;
	if (file->again_ms > AGAIN_LAST_MS)
		file->again_ms = 0;
	file->again_ns = end_ns + file->again_ms * MILLISECOND_NS;
}

unsigned transcript_files_read_again(const struct transcripts *transcripts, unsigned most_ms)
{
	uint64_t now_ns = sys_boottime_ns();

	for (size_t i = 0; i < transcripts->file_count; i++) {
		struct transcript_file *file = &transcripts->files[i];
		if (!file->again_ms)
			continue;
		uint64_t left_ns = file->again_ns > now_ns ? file->again_ns - now_ns : 0;
		file->touched = file->touched || !left_ns;
		if (left_ns && left_ns / MILLISECOND_NS + 1 < most_ms)
			most_ms = (unsigned)(left_ns / MILLISECOND_NS) + 1;
	}
	return most_ms;
}

void transcript_file_inspect(struct transcripts *transcripts, struct transcript_file *file)
{
	struct stat stat = { .st_size = 0 };
	int fd = open_file(file->path, &stat);

	file->touched = false;
	if (fd >= 0 && is_store(file->path)) {
		(void)close(fd);
		inspect_store(transcripts, file);
		return;
	}
	if (fd < 0)
		return;
	uint64_t size = (uint64_t)stat.st_size;
	/* Another file of that name, or written anew: from its beginning. */
	if (stat.st_dev != file->dev || stat.st_ino != file->ino || size < file->offset ||
	    tail_at(fd, file->offset) != file->tail) {
		file->dev = stat.st_dev;
		file->ino = stat.st_ino;
		file->offset = file->old_bytes = file->said_ns = 0;
		file->skips = false;
		conversations_again(file->findings);
	}
	read_new(transcripts, file, fd, size);
	file->heard = file->heard || size > 0;
	file->tail = tail_at(fd, file->offset);
	(void)close(fd);
}
