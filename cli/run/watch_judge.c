/* What became of a file, and who made it so: see watch_state.h. */
#include "cli/run/watch_judge.h"

#include <errno.h>
#include <string.h>

#include "cli/run/watch_directories.h"
#include "cli/run/watch_due.h"
#include "cli/run/watch_holder.h"
#include "cli/run/watch_state.h"
#include "cli/session/file_record.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/guard/guard.h"
#include "tracker/path/path.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	UNOBSERVED_MS = 500, /* between two checks for unobserved programs */
	HELD_MS = 250,       /* one that a process of the session holds open to write to it ... */
	HELD_CHECKS =
		8, /* ... the longer it does, up to so many times that, the later it is inspected again */
	PATIENCE = 2,       /* inspects what a living process left unfinished */
	PATIENCE_MS = 100,  /* between them */
	SLACK_MS = 2000,    /* between an event and the report of the session's process */
	ALIASES_MAX = 1024, /* files that are inspected to find another name of one */
};

/* ---- what is there ---- */

/* What a name stands for now. */
struct sight {
	struct version version; /* none: no regular file */
	struct stat stat;       /* of it */
	uint64_t began_ns, began_realtime_ns;
};

/* Returns 0, or a negative errno: it is not known; -EAGAIN: it is being changed. */
static int inspect(const struct watch *watch, const char *path, struct sight *ret_sight)
{
	struct content content;
	struct stat after;

	*ret_sight = (struct sight){ .began_ns = sys_boottime_ns(),
				     .began_realtime_ns = sys_realtime_ns() };
	int error = sys_stat(path, &ret_sight->stat);
	if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP)
		return 0;
	if (error < 0)
		return error;
	if (!S_ISREG(ret_sight->stat.st_mode))
		return 0;
	/* A lease, or what replaced it meanwhile, is not waited for. */
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	error = sys_fstat(fd, &ret_sight->stat);
	if (error == 0)
		error = S_ISREG(ret_sight->stat.st_mode)
				? content_of_file(fd, (uint64_t)ret_sight->stat.st_size,
						  watch->segment->settings->content_max_file_bytes,
						  &content)
				: -EAGAIN;
	if (error == 0)
		error = sys_fstat(fd, &after);
	(void)sys_close(fd);
	if (error < 0)
		return error;
	struct stamp first = stamp_of(&ret_sight->stat), last = stamp_of(&after);
	ret_sight->version = content.version;
	return stamp_equal(&first, &last) ? 0 : -EAGAIN;
}

static bool is_same_file(const char *path, const struct stat *stat)
{
	struct stat other;
	return sys_stat(path, &other) == 0 && other.st_dev == stat->st_dev &&
	       other.st_ino == stat->st_ino;
}

static bool stat_directory_of(const char *path, struct stat *ret_stat)
{
	char directory[SEGMENT_PATH_BYTES];
	size_t bytes = (size_t)(path_base(path) - path);

	memcpy(directory, path, bytes);
	directory[bytes] = '\0';
	return sys_stat(directory, ret_stat) == 0;
}

/* Did a process of the session change the file by another name, or a directory above it, since
 * then?  That is noted under the name that it used. */
static bool is_noted_elsewhere(const struct watch *watch, const char *path,
			       const struct sight *sight, uint64_t since_realtime_ns)
{
	const struct segment *segment = watch->segment;
	char other[SEGMENT_PATH_BYTES];
	struct stat directory;
	bool exists = !version_is_none(&sight->version);
	bool has_directory = !exists && stat_directory_of(path, &directory);
	int checks = ALIASES_MAX;

	SEGMENT_EACH_USED (segment, TABLE_FILES, i) {
		const struct file_slot *slot = segment_slot(segment, TABLE_FILES, i);
		struct file_slot copy;
		if (checks == 0)
			break;
		if (!__atomic_load_n(&slot->key, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&slot->last_edit_realtime_ns, __ATOMIC_RELAXED) <
			    since_realtime_ns ||
		    !slot_read(slot, &copy, sizeof(copy)))
			continue;
		int bytes = file_path(segment, &copy, other, sizeof(other));
		if (bytes <= 0 || strcmp(other, path) == 0)
			continue;
		if (strncmp(path, other, (size_t)bytes) == 0 && path[bytes] == '/')
			return true;
		checks--;
		if (exists ? is_same_file(other, &sight->stat)
			   : has_directory && strcmp(path_base(other), path_base(path)) == 0 &&
				     (other[path_base(other) - other] = '\0', true) &&
				     is_same_file(other, &directory))
			return true;
	}
	return false;
}

/* ---- whose a change is ---- */

void judge_note_unobserved(struct watch *watch)
{
	uint64_t now_ns = sys_boottime_ns();

	if (now_ns - watch->asked_ns < UNOBSERVED_MS * MILLISECOND_NS)
		return;
	watch->asked_ns = now_ns;
	partly_note(&watch->partly, watch->segment, watch->journal);
	if (guard_lives_unobserved(watch->segment))
		watch->unobserved_ns = now_ns;
}

enum unobserved {
	UNOBSERVED_NO,
	UNOBSERVED_STARTING, /* one is about to say that it is observed, or never will */
	UNOBSERVED_YES,
};

/* May a program of the session that is not observed in full have changed something since then? */
static enum unobserved lived_unobserved(struct watch *watch, uint64_t since_ns)
{
	const struct segment *segment = watch->segment;
	enum unobserved found = UNOBSERVED_NO;

	partly_note(&watch->partly, segment, watch->journal);
	/* One that lived then may have gone on until it was looked for again. */
	if ((watch->unobserved_ns &&
	     watch->unobserved_ns + UNOBSERVED_MS * MILLISECOND_NS >= since_ns) ||
	    segment_counter(segment, COUNTER_lost_processes) || guard_lives_unobserved(segment))
		return UNOBSERVED_YES;
	/* One that started since then and has ended. */
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		struct process_slot copy;
		if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) == PROCESS_FREE ||
		    __atomic_load_n(&slot->time_ns, __ATOMIC_RELAXED) +
				    UNOBSERVED_MS * MILLISECOND_NS <
			    since_ns ||
		    !process_read(segment, i, &copy))
			continue;
		if (process_is_partly_observed(&copy))
			return UNOBSERVED_YES;
		if (copy.state != PROCESS_ANNOUNCED)
			continue;
		if (process_is_unobserved(segment, i, &copy, sys_boottime_ns(), PROCESS_STARTS_NS))
			return UNOBSERVED_YES;
		found = UNOBSERVED_STARTING;
	}
	return found;
}

/* May the session's processes still change what was seen?  One that closed the file a moment ago
 * may have done so after that.  Then it is inspected later. */
static bool is_held(struct watch *watch, struct file *file, const struct sight *sight)
{
	struct sight again;
	bool is_open = !version_is_none(&sight->version) &&
		       holder_of(watch, sight->stat.st_dev, sight->stat.st_ino) != 0;

	if (!is_open && inspect(watch, file->path, &again) == 0 &&
	    version_equal(&again.version, &sight->version))
		return false;
	if (is_open) /* it may be written to for hours */
		file->first_ns = sys_boottime_ns();
	due_later(file, HELD_MS * MILLISECOND_NS *
				(file->checks < HELD_CHECKS ? file->checks + 1 : HELD_CHECKS));
	return true;
}

/* ---- what is reported of it ---- */

/* What the journal is to hold of a file that was inspected. */
static struct file_record record_of(const char *path, enum source source,
				    const struct version *before, const struct sight *sight)
{
	return (struct file_record){
		.path = path,
		.dev = sight->stat.st_dev,
		.ino = sight->stat.st_ino,
		.before = *before,
		.after = sight->version,
		.source = source,
		.amount = sight->version.size_bytes,
	};
}

/* The file is known as it is now. */
static void complete(struct file *file, const struct file_slot *slot, const struct sight *sight)
{
	file->known = true;
	file->seen = sight->version;
	file->external = slot->external;
	file->edits = slot->edits;
	file->forgets = slot->forgets;
	file->last_edit_realtime_ns = slot->last_edit_realtime_ns;
	file->checked_ns = sight->began_ns;
	file->checked_realtime_ns = sight->began_realtime_ns;
	file->stamp = (struct stamp){ 0 };
	if (!version_is_none(&sight->version))
		file->stamp = stamp_of(&sight->stat);
	due_never(file);
}

/* Did the session report that it made what is there? What is `external` since the last check is
 * what it made of a change that it did not know; or another run reported it. */
static bool is_said(const struct file *file, const struct file_slot *slot,
		    const struct version *version)
{
	if (version_is_none(version))
		return (slot->flags & FILE_REMOVED) != 0;
	return version_equal(version, &slot->written) ||
	       (version_equal(version, &slot->external) &&
		!(file->known && version_equal(version, &file->external)));
}

/* Says for a process of the session what came of its write. */
static void finish_write(struct watch *watch, struct file *file, const struct file_slot *slot,
			 const struct sight *sight, uint32_t knows)
{
	struct process_slot process = { .pid = 0 };

	(void)holder_find_process(watch->segment, slot->writer, 0, &process);
	struct guard_writer writer = { .scope_id = baseline_scope(&process.context, NULL),
				       .serial = slot->writer,
				       .context = &process.context,
				       .role = process.context.role };
	struct file_slot after = *slot;
	if (is_said(file, slot, &sight->version) ||
	    (file->known && version_equal(&file->seen, &sight->version))) {
		guard_cancel(watch->segment, &writer, file->key);
	} else {
		guard_finish_write(watch->segment, &writer, file->key, &sight->version, knows);
		struct file_record record = record_of(
			file->path, source_of_process(writer.context->flags, writer.role),
			file->known ? &file->seen : &slot->written, sight);
		record.op = JOURNAL_EDITED;
		record.tid = process.pid;
		file_record_write(watch->segment, watch->journal, &record);
		(void)file_find(watch->segment, file->key, &after);
	}
	complete(file, &after, sight);
	holder_ask(watch, file);
}

/* A process of the session writes to the file, or has left without a word: says it for it when it
 * is done. */
static void finish(struct watch *watch, struct file *file, const struct file_slot *slot,
		   const struct sight *sight, enum phase phase)
{
	struct process_slot process;
	uint32_t knows;

	if (is_held(watch, file, sight)) {
		if (phase == PHASE_LAST)
			due_never(file);
		return;
	}
	/* One that lives is about to report it, or even to make the call. */
	if (phase != PHASE_LAST && file->checks < PATIENCE &&
	    holder_find_process(watch->segment, slot->writer, 0, &process) &&
	    !process_is_gone(&process))
		due_later(file, PATIENCE_MS * MILLISECOND_NS);
	else if (guard_unfinished(watch->segment, file->key, &knows) != slot->writer)
		due_later(file, watch->quiet_ns);
	else
		finish_write(watch, file, slot, sight, knows);
}

/* What any scope of the session knew last, and since when; a read that is too young to be a
 * baseline does not show what an agent knows. False: no scope knew it. */
static bool known_last(const struct watch *watch, uint64_t key, struct version *ret_version,
		       uint64_t *ret_since_ns)
{
	const struct segment *segment = watch->segment;
	uint64_t newest_ns = 0;

	for (uint64_t i = 0; i <= segment->capacity[TABLE_SCOPES]; i++) {
		uint64_t scope_id = BASELINE_SESSION, since_ns;
		struct version version;
		if (i < segment->capacity[TABLE_SCOPES]) {
			const struct scope_slot *slot = segment_slot(segment, TABLE_SCOPES, i);
			scope_id = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
		}
		if (scope_id && baseline_since(segment, scope_id, key, &version, &since_ns) &&
		    since_ns >= newest_ns) {
			newest_ns = since_ns;
			*ret_version = version;
		}
	}
	*ret_since_ns = newest_ns;
	return newest_ns != 0;
}

/* Did the session write to it since the last look, or begin to?  Of a write that was not guarded
 * (it is not to be, or could not be) it is only known that it was begun. */
static bool is_edited(const struct file *file, const struct file_slot *slot)
{
	return file->known ? slot->edits != file->edits : slot->edits != 0;
}

static bool is_begun(const struct file *file, const struct file_slot *slot)
{
	return !is_edited(file, slot) &&
	       slot->last_edit_realtime_ns >
		       (file->known ? file->last_edit_realtime_ns : slot->last_read_realtime_ns);
}

/* Is what is there the session's own, or known already?  ret_before: what is known of before. */
static bool is_known(const struct watch *watch, const struct file *file,
		     const struct file_slot *slot, const struct sight *sight,
		     struct version *ret_before)
{
	const struct version *version = &sight->version;
	bool none = version_is_none(version);
	uint64_t since_ns;
	/* At first a young read counts, too. */
	bool has_before = file->known ? known_last(watch, file->key, ret_before, &since_ns)
				      : baseline_newest(watch->segment, file->key, ret_before,
							&since_ns);
	/* What was read since the last check may be what an external writer made of it a moment
	 * before. */
	bool is_before = has_before && version_equal(version, ret_before) &&
			 !(file->known && since_ns > file->checked_ns);

	if (file->known)
		*ret_before = file->seen;
	if (is_begun(file, slot))
		return true;
	if (file->known && !is_edited(file, slot) && version_equal(version, &file->seen))
		return true;
	if (none && !file->known && slot->user_edit_realtime_ns && version_is_none(&slot->external))
		return true;
	return (is_before && !none) || is_said(file, slot, version);
}

struct external {
	const struct version *version;
	enum source source;
	uint32_t edits;
	uint64_t since_realtime_ns; /* what was reported before is another change */
	bool is_read;               /* the agent has read it already */
	bool *ret_stale;            /* a process of the session came first */
	bool *ret_is_reported;      /* another run told it already */
};

static void note_external(struct file_slot *file, const void *data)
{
	const struct external *external = data;
	bool is_external = source_is_external((enum source)file->source);

	*external->ret_stale = file->edits != external->edits || file->writer;
	*external->ret_is_reported = is_external &&
				     version_equal(&file->external, external->version) &&
				     file->user_edit_realtime_ns >= external->since_realtime_ns;
	if (*external->ret_stale || *external->ret_is_reported)
		return;
	if (external->is_read) {
		file->external = *external->version;
		file->user_edit_realtime_ns = file->agent_read_realtime_ns - 1;
	} else {
		file_note_external(file, external->version, external->source, sys_realtime_ns());
	}
	file->flags &= ~(uint32_t)FILE_REMOVED;
}

/* An external writer's change. */
static void report(struct watch *watch, struct file *file, const struct file_slot *slot,
		   const struct sight *sight, enum source source, const struct version *before)
{
	bool stale = false, is_reported = false, none = version_is_none(&sight->version);
	struct version known;
	uint64_t since_ns;
	bool is_read = !none && slot->agent_read_realtime_ns && slot->source == SOURCE_READ &&
		       known_last(watch, file->key, &known, &since_ns) &&
		       version_equal(&known, &sight->version);
	struct external external = { .version = &sight->version,
				     .source = source,
				     .edits = slot->edits,
				     .since_realtime_ns = file->known ? file->checked_realtime_ns
								      : 0,
				     .is_read = is_read,
				     .ret_stale = &stale,
				     .ret_is_reported = &is_reported };
	struct file_slot after = *slot;

	if (file_change_known(watch->segment, file->key, note_external, &external) < 0 || stale) {
		due_later(file, watch->quiet_ns);
		return;
	}
	struct file_record record = record_of(file->path, source, before, sight);
	if (!is_reported)
		file_record_changed(watch->segment, watch->journal, &record,
				    !(file->known && version_is_none(&file->seen)));
	after.external = sight->version;
	complete(file, &after, sight);
}

/* Whose is a change that no process of the session reports as its own? False: not to be reported
 * yet. */
static bool find_source(struct watch *watch, struct file *file, const struct sight *sight,
			uint64_t since_ns, enum phase phase, enum source *ret_source)
{
	bool held = is_held(watch, file, sight);
	enum unobserved unobserved = held ? UNOBSERVED_NO : lived_unobserved(watch, since_ns);

	*ret_source = held || unobserved != UNOBSERVED_NO ? SOURCE_UNATTRIBUTED : SOURCE_USER;
	if (unobserved == UNOBSERVED_STARTING && phase != PHASE_LAST)
		due_later(file, watch->quiet_ns);
	return phase == PHASE_LAST || (!held && unobserved != UNOBSERVED_STARTING);
}

/* May the table have given the file's place away since the last inspection, and with it what the
 * session wrote?  Then nothing is known of a change.  The end of the run reports how many files
 * were forgotten. */
static bool may_be_invalidated(const struct watch *watch, const struct file *file,
			       const struct file_slot *slot)
{
	if (!segment_counter(watch->segment, COUNTER_lost_files))
		return false;
	return file->fresh || !file->known || slot->forgets != file->forgets;
}

static void judge_known(struct watch *watch, struct file *file, const struct file_slot *slot,
			const struct sight *sight, enum phase phase)
{
	struct version before = { 0 };
	bool is_invalidated = may_be_invalidated(watch, file, slot);
	enum source source;

	if (file->excluded || watch->segment->settings->watch_mode == WATCH_MODE_OFF ||
	    is_invalidated || is_known(watch, file, slot, sight, &before)) {
		bool is_written = !file->excluded && !is_invalidated &&
				  (is_edited(file, slot) || is_begun(file, slot));
		complete(file, slot, sight);
		if (is_written)
			holder_ask(watch, file);
		return;
	}
	uint64_t since_realtime_ns = slot->last_read_realtime_ns > slot->last_edit_realtime_ns
					     ? slot->last_read_realtime_ns
					     : slot->last_edit_realtime_ns;
	if (file->known)
		since_realtime_ns = file->checked_realtime_ns - watch->quiet_ns;
	if (is_noted_elsewhere(watch, file->path, sight, since_realtime_ns))
		complete(file, slot, sight);
	else if (find_source(watch, file, sight,
			     file->known ? file->checked_ns : slot->last_read_ns, phase, &source))
		report(watch, file, slot, sight, source, &before);
}

/* A name that no scope has a baseline of. */
static void judge_fresh(struct watch *watch, struct file *file, const struct file_slot *slot,
			const struct sight *sight, enum phase phase)
{
	static const struct version NOTHING;
	uint64_t since_realtime_ns = file->checked_realtime_ns - SLACK_MS * MILLISECOND_NS;
	bool exists = !version_is_none(&sight->version);
	enum source source;

	names_note(watch, file->key, exists);
	if (!exists || file->was_there || may_be_invalidated(watch, file, slot) ||
	    slot->last_edit_realtime_ns >= since_realtime_ns ||
	    is_noted_elsewhere(watch, file->path, sight, since_realtime_ns)) {
		due_never(file);
	} else if (find_source(watch, file, sight, file->checked_ns - watch->quiet_ns, phase,
			       &source)) {
		struct file_record record = record_of(file->path, source, &NOTHING, sight);
		file_record_changed(watch->segment, watch->journal, &record, false);
		due_never(file);
	}
}

void judge(struct watch *watch, struct file *file, enum phase phase)
{
	struct file_slot before = { .key = 0 }, slot = { .key = 0 };
	struct sight sight;

	if (file_find(watch->segment, file->key, &before) < 0 && !file->fresh) {
		/* The table gave its place away; it comes back when it is read again. */
		file->known = false;
		due_never(file);
		return;
	}
	int error = inspect(watch, file->path, &sight);
	(void)file_find(watch->segment, file->key, &slot);
	if (error == -EAGAIN || before.key != slot.key || before.edits != slot.edits ||
	    before.writer != slot.writer ||
	    before.last_edit_realtime_ns != slot.last_edit_realtime_ns)
		due_later(file, watch->quiet_ns);
	else if (error < 0) /* too large, or not to be read: nothing is known */
		due_never(file);
	else if (file->fresh)
		judge_fresh(watch, file, &slot, &sight, phase);
	else if (slot.writer)
		finish(watch, file, &slot, &sight, phase);
	else
		judge_known(watch, file, &slot, &sight, phase);
	if (file->fresh && phase == PHASE_LAST)
		due_never(file);
}
