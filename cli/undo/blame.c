/* Who wrote each line: see blame.h. */
#define XXH_INLINE_ALL
#include "cli/undo/blame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "cli/files/line_script.h"
#include "cli/undo/file_history.h"
#include "cli/undo/tree_entry.h"

enum { TEXT_BYTES_MAX = 1 << 28 };

/* Who may have written what is new in the next known version. */
enum pending { PENDING_NONE, PENDING_ONE, PENDING_SEVERAL };

/* The lines of an earlier version. */
struct earlier {
	XXH128_hash_t hash;
	struct blame_line *lines; /* owned */
	size_t count;
};

struct following {
	const struct tree_records *records;
	const struct steps *steps;
	struct blame *blame; /* text and lines: of the last known version */
	enum pending pending;
	struct blame_origin writer; /* PENDING_ONE */
	bool keeps_earlier;         /* the file's history has an undo */
	struct earlier *earlier;
	size_t earlier_count;
};

const char *blame_kind_name(enum blame_kind kind)
{
	static const char *const NAMES[BLAME_KIND_COUNT] = {
		[BLAME_BEFORE] = "before_session",
		[BLAME_STEP] = "step",
		[BLAME_UNDO] = "undo",
		[BLAME_EXTERNAL] = "external",
		[BLAME_UNKNOWN] = "unknown",
	};
	return NAMES[kind];
}

/* ---- writers ---- */

static bool is_same_writer(const struct blame_origin *one, const struct blame_origin *other)
{
	return one->kind == other->kind && one->step == other->step &&
	       one->process == other->process && one->operation == other->operation;
}

static void add_writer(struct following *following, const struct blame_origin *writer)
{
	if (following->pending == PENDING_NONE)
		following->writer = *writer;
	following->pending = following->pending != PENDING_NONE &&
					     !is_same_writer(&following->writer, writer)
				     ? PENDING_SEVERAL
			     : following->pending == PENDING_SEVERAL ? PENDING_SEVERAL
								     : PENDING_ONE;
}

static void add_external(struct following *following)
{
	add_writer(following, &(struct blame_origin){ .kind = BLAME_EXTERNAL });
}

static void add_writer_of(struct following *following, const struct tree_record *record)
{
	struct blame_origin writer = { .kind = BLAME_UNKNOWN };

	if (record->operation) {
		writer.kind = BLAME_UNDO;
		writer.operation = record->operation;
	} else {
		writer.step = steps_of_change(following->steps, record->process, record->time_ns);
		writer.kind = writer.step ? BLAME_STEP : BLAME_UNKNOWN;
		writer.process = record->process;
		writer.pid = record->pid;
	}
	writer.time_ns = record->time_ns;
	add_writer(following, &writer);
}

/* The index of an origin, which is added if it is new; UINT32_MAX: no memory. */
static uint32_t origin_of(struct blame *blame, const struct blame_origin *origin)
{
	for (size_t i = 0; i < blame->origin_count; i++)
		if (is_same_writer(&blame->origins[i], origin))
			return (uint32_t)i;
	struct blame_origin *more = reallocarray(blame->origins, blame->origin_count + 1,
						 sizeof(*more));
	if (!more)
		return UINT32_MAX;
	blame->origins = more;
	more[blame->origin_count] = *origin;
	return (uint32_t)blame->origin_count++;
}

/* ---- versions ---- */

static void set_lines(struct blame_line *lines, const struct blame *old,
		      const struct line_script *script, uint32_t origin)
{
	size_t at = 0;

	for (size_t i = 0; i < script->new.count; i++) {
		if (script->new.changed[i]) {
			lines[i] = (struct blame_line){ origin, (uint32_t)i + 1 };
			continue;
		}
		while (at < script->old.count && script->old.changed[at])
			at++;
		lines[i] = old->lines[at++];
	}
}

/* ---- what came back ---- */

static int keep_earlier(struct following *following, const char *text, size_t size)
{
	const struct blame *blame = following->blame;
	struct earlier *more = following->keeps_earlier
				       ? reallocarray(following->earlier,
						      following->earlier_count + 1, sizeof(*more))
				       : NULL;
	struct blame_line *lines = more ? calloc(blame->count + 1, sizeof(*lines)) : NULL;

	following->earlier = more ? more : following->earlier;
	if (!lines)
		return following->keeps_earlier ? -ENOMEM : 0;
	if (blame->count)
		memcpy(lines, blame->lines, blame->count * sizeof(*lines));
	more[following->earlier_count++] = (struct earlier){ XXH3_128bits(text, size), lines,
							     blame->count };
	return 0;
}

/* The youngest version with that content, where an undo or a redo may have brought it back; NULL: none. */
static const struct earlier *find_earlier(const struct following *following, const char *text,
					  size_t size)
{
	if (following->pending != PENDING_ONE || following->writer.kind != BLAME_UNDO)
		return NULL;
	XXH128_hash_t hash = XXH3_128bits(text, size);
	for (size_t i = following->earlier_count; i-- > 0;)
		if (XXH128_isEqual(following->earlier[i].hash, hash))
			return &following->earlier[i];
	return NULL;
}

static void drop_earlier(struct following *following)
{
	for (size_t i = 0; i < following->earlier_count; i++)
		free(following->earlier[i].lines);
	free(following->earlier);
}

/* The next known version; takes the text over.  What is new in it is the pending writer's. */
static int next_version(struct following *following, char *text, size_t size)
{
	struct blame *blame = following->blame;
	const struct blame_origin unknown = { .kind = BLAME_UNKNOWN };
	struct line_script script = { .removed = 0 };
	int error = line_script_make(blame->text ? blame->text : "", blame->size_bytes, text, size,
				     &script);
	struct blame_line *lines = error ? NULL : calloc(script.new.count + 1, sizeof(*lines));
	uint32_t origin = origin_of(blame, following->pending == PENDING_ONE ? &following->writer
									     : &unknown);

	if (error == 0 && (!lines || origin == UINT32_MAX))
		error = -ENOMEM;
	const struct earlier *earlier = error == 0 ? find_earlier(following, text, size) : NULL;
	if (error == 0) {
		if (earlier && earlier->count == script.new.count)
			memcpy(lines, earlier->lines, earlier->count * sizeof(*lines));
		else
			set_lines(lines, blame, &script, origin);
		free(blame->lines);
		free(blame->text);
		blame->lines = lines;
		blame->count = script.new.count;
		blame->text = text;
		blame->size_bytes = size;
		following->pending = PENDING_NONE;
		error = keep_earlier(following, text, size);
	} else {
		free(lines);
		free(text);
	}
	line_script_free(&script);
	return error;
}

/* Reads a version, if it is known, and goes on to it. */
static int read_version(struct following *following, const struct file_state *state)
{
	const struct tree_entry entry = { .exists = true,
					  .known = true,
					  .mode = S_IFREG,
					  .content = TREE_KEPT,
					  .record = state->content };
	char *text = NULL;
	size_t size = 0;
	int error;

	if (!state->known)
		return 0;
	if (!state->exists || (!state->state.size_bytes && S_ISREG(state->state.mode))) {
		text = strdup("");
		return text ? next_version(following, text, 0) : -ENOMEM;
	}
	if (!state->content || !S_ISREG(state->state.mode))
		return 0;
	error = tree_entry_read(following->records, &entry, TEXT_BYTES_MAX, &text, &size);
	if (error < 0)
		return error == -ENOMEM ? error : 0;
	return next_version(following, text, size);
}

/* ---- the file ---- */

static int read_disk(const char *path, struct file_state *ret_state, char **ret_text,
		     size_t *ret_size)
{
	struct stat stat;

	if (lstat(path, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return S_ISDIR(stat.st_mode) ? -EISDIR : -EINVAL;
	int error = tree_entry_read_disk(path, TEXT_BYTES_MAX, ret_text, ret_size);
	if (error < 0)
		return error;
	*ret_state = (struct file_state){
		.known = true,
		.exists = true,
		.state = { .dev = stat.st_dev,
			   .ino = stat.st_ino,
			   .size_bytes = (uint64_t)stat.st_size,
			   .mtime_ns = stat.st_mtim.tv_sec * INT64_C(1000000000) +
				       stat.st_mtim.tv_nsec,
			   .mode = stat.st_mode },
	};
	return *ret_size && memchr(*ret_text, '\0', *ret_size) ? -EINVAL : 0;
}

/* Did no external program change the file between two changes?  What a command wrote several times
 * counts as it left it, also where that is not on record; an agent's own action may last for long. */
static bool follows(const struct following *following, const struct file_change *one,
		    const struct file_change *next)
{
	if (!next->continues)
		return file_state_is(&one->after, &next->before);
	if (next->record->flags & PACK_CONTINUED)
		return true;
	const struct step *step = steps_of_change(following->steps, one->record->process,
						  one->record->time_ns);
	return step && step->kind == STEP_COMMAND &&
	       steps_of_change(following->steps, next->record->process, next->record->time_ns) ==
		       step;
}

static bool is_before(const struct statx_timestamp *time, uint64_t limit_ns)
{
	return (uint64_t)time->tv_sec * 1000000000u + time->tv_nsec < limit_ns;
}

/* Was a file on disk before the session began?  A rename and a chmod leave the times that are asked for. */
static bool is_older(const struct following *following, const char *path)
{
	uint64_t begin_ns = following->steps->begin_ns;
	struct statx status;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &status) <
	    0)
		return false;
	const struct statx_timestamp *made = status.stx_mask & STATX_BTIME ? &status.stx_btime
									   : &status.stx_ctime;
	return is_before(made, begin_ns) && is_before(&status.stx_mtime, begin_ns);
}

/* What had written the file before the first change that is on record. */
static struct blame_origin origin_before(const struct following *following,
					 const struct file_history *history, const char *path)
{
	const struct tree_records *records = following->records;
	struct blame_origin before = { .kind = BLAME_BEFORE };

	/* an older change may have been on record */
	if (records->damaged || records->dropped_parts)
		before.kind = BLAME_UNKNOWN;
	else if (!history->count)
		before.kind = is_older(following, path) ? BLAME_BEFORE : BLAME_UNKNOWN;
	else
		before.may_be_later = history->changes[0].before.state.mtime_ns >=
				      (int64_t)following->steps->begin_ns;
	return before;
}

/* An undo puts another file in the place of one: that there was none in between is no version. */
static bool is_between(const struct file_state *state, const struct file_change *change,
		       const struct file_change *other)
{
	return state->known && !state->exists && change->record->operation &&
	       change->record->operation == other->record->operation;
}

static int follow(struct following *following, const struct file_history *history, const char *path,
		  const struct file_state *disk, char *text, size_t size)
{
	const struct blame_origin before = origin_before(following, history, path);
	const struct file_change *changes = history->changes;
	int error = 0;

	add_writer(following, &before);
	for (size_t i = 0; i < history->count; i++)
		following->keeps_earlier |= changes[i].record->operation != 0;
	for (size_t i = 0; i < history->count && error == 0; i++) {
		if (i > 0 && !follows(following, &changes[i - 1], &changes[i]))
			add_external(following);
		bool is_first = i == 0 ||
				!is_between(&changes[i].before, &changes[i], &changes[i - 1]);
		bool is_last = i + 1 == history->count ||
			       !is_between(&changes[i].after, &changes[i], &changes[i + 1]);
		if (is_first)
			error = read_version(following, &changes[i].before);
		add_writer_of(following, changes[i].record);
		if (error == 0 && is_last)
			error = read_version(following, &changes[i].after);
	}
	if (history->count && !file_state_is(&changes[history->count - 1].after, disk))
		add_external(following);
	if (error < 0) {
		free(text);
		return error;
	}
	return next_version(following, text, size);
}

int blame_read(const struct tree_records *records, const struct steps *steps, const char *path,
	       struct blame *ret_blame)
{
	struct following following = { .records = records, .steps = steps, .blame = ret_blame };
	struct file_history history = { .count = 0 };
	struct file_state disk;
	char *text = NULL;
	size_t size = 0;

	*ret_blame = (struct blame){ .count = 0 };
	int error = read_disk(path, &disk, &text, &size);
	if (error == 0)
		error = file_history_read(records, path, true, &history);
	if (error == 0)
		error = follow(&following, &history, path, &disk, text, size);
	else
		free(text);
	drop_earlier(&following);
	file_history_free(&history);
	return error;
}

void blame_free(struct blame *blame)
{
	free(blame->text);
	free(blame->lines);
	free(blame->origins);
	*blame = (struct blame){ .count = 0 };
}
