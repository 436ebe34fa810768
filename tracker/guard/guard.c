/* The guard: see guard.h. */
#include "tracker/guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/guard/knowledge.h"
#include "tracker/path/decimal.h"
#include "tracker/path/line.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/scope.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum {
	READS_MAX = 4, /* at a file that changes while it is inspected */
	SMALL_CHUNK_BYTES = 2048,
};

static const uint64_t STARTING_NS = 500000000; /* a program that takes longer to attach does not */

/* Must a scope have read a file before this writer may overwrite it? */
static bool has_to_read(const struct segment *segment, const struct guard_writer *writer)
{
	return segment->settings->guard_read_before_write != GUARD_READ_BEFORE_WRITE_OFF &&
	       writer->scope_id &&
	       source_of_process(writer->context->flags, writer->role) == SOURCE_AGENT;
}

/* Is what it writes inspected whatever the name? */
static bool is_special(const struct segment *segment, const struct guard_writer *writer)
{
	/* Agents, and what carries a notice, may name the file otherwise than it is known by. */
	return writer->role == ROLE_AGENT || writer->answered || has_to_read(segment, writer);
}

bool guard_may_concern(const struct segment *segment, const struct guard_writer *writer,
		       const char *path)
{
	return is_special(segment, writer) ||
	       (path ? baseline_knows_name(segment, path) : baseline_knows_any(segment));
}

bool guard_concerns(const struct segment *segment, const struct guard_writer *writer,
		    const char *path)
{
	const struct settings *settings = segment->settings;

	if (!path_in_workspace(segment, path) || !guard_may_concern(segment, writer, path))
		return false;
	if (settings->guard_allow.count && path_matches_list(segment, settings->guard_allow, path))
		return false;
	return path_is_tracked(segment, path);
}

bool guard_lives_unobserved(const struct segment *segment)
{
	uint64_t now_ns = sys_boottime_ns(), index = 0;
	struct process_slot process;

	while (process_next(segment, &index, &process)) {
		bool is_unobserved = process.state == PROCESS_ANNOUNCED
					     ? process.pid &&
						       now_ns - process.time_ns >= STARTING_NS
					     : process_is_partly_observed(&process);
		if (is_unobserved && !process_is_gone(&process))
			return true;
	}
	return false;
}

/* When a file was made; UINT64_MAX where the file system does not tell.  path: as statx(2) takes it
 * with AT_EMPTY_PATH. */
static uint64_t creation_ns(int directory, const char *path)
{
	struct statx stat;

	if (sys_call6(SYS_statx, directory, (long)path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
		      STATX_BTIME, (long)&stat, 0) < 0 ||
	    !(stat.stx_mask & STATX_BTIME))
		return UINT64_MAX;
	return (uint64_t)stat.stx_btime.tv_sec * 1000000000 + stat.stx_btime.tv_nsec;
}

/* Finds the file on record that an inode is.  Numbers of inodes are given anew, so one of these
 * must hold: its path leads to the inode; or the inode was there already when the file was last
 * read under that number, and the path does not lead to another inode that was read since: then
 * the file, or a directory above it, was renamed.
 *
 * directory, path: as of creation_ns().  Returns the key; 0: there is none. */
static uint64_t find_inode(const struct segment *segment, int directory, const char *path,
			   const struct stat *stat, struct file_slot *ret_file)
{
	uint64_t found_ns = 0, other_ns = 0;
	uint64_t key = file_by_inode_at(segment, stat->st_dev, stat->st_ino, &found_ns);
	struct stat there;

	if (!key || file_find(segment, key, ret_file) < 0 || !(ret_file->flags & FILE_HAS_BASELINE))
		return 0;
	char *known = chunk_acquire();
	bool is_there = known && file_path(segment, ret_file, known, SEGMENT_PATH_BYTES) > 0 &&
			sys_stat(known, &there) == 0;
	chunk_release(known);
	if (is_there && there.st_dev == stat->st_dev && there.st_ino == stat->st_ino)
		return key;
	if (is_there && file_by_inode_at(segment, there.st_dev, there.st_ino, &other_ns) == key &&
	    other_ns > found_ns)
		return 0;
	return !(ret_file->flags & FILE_REMOVED) && creation_ns(directory, path) < found_ns ? key
											    : 0;
}

bool guard_find_link(const struct segment *segment, int directory, const char *path,
		     const struct stat *stat, char *ret_path)
{
	struct file_slot file;

	return find_inode(segment, directory, path, stat, &file) &&
	       file_path(segment, &file, ret_path, SEGMENT_PATH_BYTES) > 0;
}

/* The key under which the file is on record: by its path or, for another name of it, by its
 * inode. */
static uint64_t key_of(const struct segment *segment, const char *path, int fd,
		       const struct stat *stat, enum guard_kind kind, struct file_slot *ret_file)
{
	uint64_t key = path_key(segment, path);

	if (file_find(segment, key, ret_file) == 0 && (ret_file->flags & FILE_HAS_BASELINE))
		return key;
	/* What happens to a name alone leaves the others as they are. */
	uint64_t other = kind != GUARD_UNNAMES || stat->st_nlink == 1
				 ? find_inode(segment, fd, "", stat, ret_file)
				 : 0;
	if (other)
		return other;
	if (file_find(segment, key, ret_file) < 0)
		*ret_file = (struct file_slot){ .key = key };
	return key;
}

/* Is what stands for a scope's work another agent's than the writer's? */
static bool is_anothers(const struct segment *segment, const struct guard_writer *writer,
			uint64_t head)
{
	uint64_t own = head && writer->scope_id ? scope_head(segment, writer->scope_id) : 0;
	return own && own != head;
}

/* The scope whose change it is that the writer's does not know; 0: it is external to the session,
 * or not known. */
static uint64_t changer_of(const struct segment *segment, const struct guard_writer *writer,
			   const struct file_slot *file, const struct version *before)
{
	uint64_t head = version_equal(&file->external, before)  ? file->external_scope
			: version_equal(&file->written, before) ? file->written_scope
								: 0;
	return is_anothers(segment, writer, head) ? head : 0;
}

/* The verdict on a write over that content, by what is known. */
static void judge(const struct segment *segment, const struct guard_writer *writer,
		  const struct file_slot *file, struct guard_answer *answer)
{
	const struct version *before = &answer->before;
	struct knowledge knowledge;
	bool is_session_version = !version_is_none(&file->written) &&
				  version_equal(&file->written, before);
	knowledge_find(segment, writer, answer->file_key, before, &knowledge);
	answer->baseline = knowledge.baseline;
	/* What another agent made of a file that this one knows is as external to it as an editor's
	 * change. */
	if (is_session_version && is_anothers(segment, writer, file->written_scope) &&
	    baseline_of(segment, knowledge.scope_id, answer->file_key, &answer->baseline))
		is_session_version = false;
	uint32_t whole = answer->kind == GUARD_REPLACES || answer->kind == GUARD_UNNAMES
				 ? GUARD_WHOLE
				 : 0;

	answer->knows = whole;
	answer->changer = 0;
	if (knowledge.is_before || is_session_version) {
		answer->reason = GUARD_FRESH;
		answer->knows |= GUARD_KNEW;
		/* A write tool's in-process read, right before it writes, is not the one that is
		 * asked for; nor is one by which an agent informs itself. */
		if (!is_session_version && answer->kind != GUARD_APPENDS &&
		    has_to_read(segment, writer) &&
		    !(knowledge.is_known &&
		      baseline_is_read(segment, knowledge.scope_id, answer->file_key)))
			answer->reason = GUARD_UNREAD;
	} else if (file->writer) {
		answer->reason = GUARD_UNFINISHED;
		answer->knows |= file->flags & FILE_WRITER_KNEW ? GUARD_KNEW : 0;
	} else if (knowledge.is_known) {
		answer->reason = GUARD_STALE;
		answer->changer = changer_of(segment, writer, file, before);
	} else {
		/* Nothing is known here to this scope; to others, perhaps. */
		bool is_known = version_equal(&file->version, before) ||
				!(file->flags & FILE_HAS_BASELINE);
		answer->knows |= is_known ? GUARD_KNEW : 0;
		/* What is empty, or what the session made, need not be read. */
		bool is_unread = answer->kind != GUARD_APPENDS && before->size_bytes &&
				 !(file->flags & (FILE_EDITED_BY_AGENT | FILE_EDITED_BY_TOOL)) &&
				 has_to_read(segment, writer);
		answer->reason = is_unread ? GUARD_UNREAD : GUARD_UNCONCERNED;
	}
	if (answer->reason != GUARD_STALE)
		answer->baseline = (struct version){ 0 };
}

static void decide(const struct segment *segment, const char *path, struct guard_answer *answer)
{
	const struct settings *settings = segment->settings;
	bool observes = settings->session_mode == SESSION_MODE_OBSERVE;

	answer->verdict = GUARD_PASS;
	answer->error = 0;
	if (answer->reason == GUARD_STALE && answer->kind != GUARD_APPENDS) {
		uint64_t choice = settings->guard_stale_write;
		if (settings->guard_deny.count &&
		    path_matches_list(segment, settings->guard_deny, path))
			choice = GUARD_STALE_WRITE_DENY;
		if (choice == GUARD_STALE_WRITE_DENY) {
			/* An unobserved process may have made that change for the agent. */
			answer->degraded = observes || guard_lives_unobserved(segment);
			answer->verdict = answer->degraded ? GUARD_WARN : GUARD_DENY;
			answer->error = -ESTALE;
		} else if (choice == GUARD_STALE_WRITE_WARN) {
			answer->verdict = GUARD_WARN;
		}
	} else if (answer->reason == GUARD_UNREAD) {
		answer->error = -EACCES;
		answer->degraded = observes && settings->guard_read_before_write ==
						       GUARD_READ_BEFORE_WRITE_DENY;
		answer->verdict = settings->guard_read_before_write ==
							  GUARD_READ_BEFORE_WRITE_DENY &&
						  !observes
					  ? GUARD_DENY
					  : GUARD_WARN;
	}
	if (answer->verdict != GUARD_DENY)
		answer->error = 0;
}

static void count(const struct segment *segment, const struct guard_answer *answer)
{
	bool stale = answer->reason == GUARD_STALE, denied = answer->verdict == GUARD_DENY;

	if (answer->verdict == GUARD_PASS)
		return;
	segment_count(segment,
		      stale ? (denied ? COUNTER_stale_denied : COUNTER_stale_warned)
			    : (denied ? COUNTER_unread_denied : COUNTER_unread_warned),
		      1);
}

/* Is what may be lost to be kept?  Also where it may be lost, if a notice may be refused: then it
 * is put back. */
static bool keeps(const struct segment *segment, const struct guard_writer *writer,
		  const struct file_slot *file, const struct guard_answer *answer)
{
	return answer->kind != GUARD_APPENDS && answer->verdict != GUARD_DENY &&
	       (segment->settings->guard_stale_write != GUARD_STALE_WRITE_ALLOW ||
		writer->answered || (file->flags & FILE_HAS_BASELINE));
}

void guard_check(const struct segment *segment, const struct guard_writer *writer, const char *path,
		 int fd, enum guard_kind kind, struct guard_answer *ret_answer)
{
	struct guard_answer answer = { .kind = kind, .file_key = path_key(segment, path) };
	struct content content;
	struct file_slot file;
	struct stat stat;

	*ret_answer = answer;
	if (fd == -ENOENT || fd == -ENOTDIR) {
		ret_answer->reason = GUARD_NEW;
		if (!is_special(segment, writer) && file_find(segment, answer.file_key, &file) < 0)
			ret_answer->file_key = 0;
		ret_answer->knows = GUARD_KNEW | GUARD_WHOLE;
		return;
	}
	ret_answer->reason = GUARD_UNREADABLE;
	if (fd < 0 || sys_fstat(fd, &stat) < 0) {
		segment_count(segment, COUNTER_unguarded, 1);
		return;
	}
	if (!S_ISREG(stat.st_mode)) {
		ret_answer->reason = GUARD_UNCONCERNED;
		return;
	}
	answer.file_key = key_of(segment, path, fd, &stat, kind, &file);
	if (!(file.flags & FILE_HAS_BASELINE) && !is_special(segment, writer)) {
		ret_answer->reason = GUARD_UNCONCERNED;
		ret_answer->file_key = 0;
		return;
	}
	for (int attempt = 0; attempt < READS_MAX; attempt++) {
		if (content_of_descriptor(fd, segment->settings->content_max_file_bytes, &content) <
		    0) {
			segment_count(segment, COUNTER_unguarded, 1);
			return;
		}
		answer.before = content.version;
		judge(segment, writer, &file, &answer);
		decide(segment, path, &answer);
		if (!keeps(segment, writer, &file, &answer))
			break;
		struct version kept;
		if (writer->is_kept && writer->is_kept(writer, fd)) {
			answer.kept = true;
			break;
		}
		answer.kept = contents_save(segment, fd, path, CONTENTS_DESTROYED, &kept) == 0;
		/* Changed between both: what is there now is what will be lost. */
		if (!answer.kept || version_equal(&kept, &answer.before))
			break;
	}
	count(segment, &answer);
	if (answer.reason == GUARD_STALE && answer.verdict != GUARD_PASS)
		knowledge_note_refusal(segment, writer, answer.file_key, &answer.before);
	*ret_answer = answer;
}

void guard_judge(const struct segment *segment, const struct guard_writer *writer, const char *path,
		 int fd, enum guard_kind kind, struct guard_answer *ret_answer)
{
	struct content content;
	struct file_slot file;
	struct stat stat;

	*ret_answer = (struct guard_answer){ .kind = kind, .reason = GUARD_UNREADABLE };
	if (fd < 0 || sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    content_of_descriptor(fd, segment->settings->content_max_file_bytes, &content) < 0)
		return;
	ret_answer->file_key = key_of(segment, path, fd, &stat, kind, &file);
	ret_answer->before = content.version;
	judge(segment, writer, &file, ret_answer);
}

struct change {
	const struct version *version;
	uint64_t serial;
	uint32_t knows;
	enum source source;
	uint64_t head; /* scope_head() of its writer; 0: none */
};

static void note_write_start(struct file_slot *file, const void *data)
{
	const struct change *change = data;

	file->writer = change->serial;
	file->flags &= ~(uint32_t)(FILE_WRITER_KNEW | FILE_WRITER_WHOLE | FILE_REMOVED);
	if (change->knows & GUARD_KNEW)
		file->flags |= FILE_WRITER_KNEW;
	if (change->knows & GUARD_WHOLE)
		file->flags |= FILE_WRITER_WHOLE;
}

static void note_write_finish(struct file_slot *file, const void *data)
{
	const struct change *change = data;

	/* Another may have begun meanwhile, and has not ended. */
	if (!change->serial || file->writer == change->serial || file->writer == UINT64_MAX) {
		file->writer = 0;
		file->flags &= ~(uint32_t)(FILE_WRITER_KNEW | FILE_WRITER_WHOLE);
	}
	file->flags &= ~(uint32_t)FILE_REMOVED;
	if (version_is_none(change->version))
		file->flags |= FILE_REMOVED;
	file->flags = fate_after(file->flags, version_is_none(change->version) ? FILE_ACTION_REMOVE
									       : FILE_ACTION_WRITE);
	if (change->knows & GUARD_KNEW) {
		file->flags &= ~(uint32_t)FILE_CHANGE_REPORTED;
		file->written = *change->version;
		file->written_scope = change->head;
	} else {
		file->external = *change->version;
		file->external_scope = change->head;
	}
	file->edits++;
	file_note_editor(file, change->source, sys_realtime_ns());
}

void guard_start_write(const struct segment *segment, const struct guard_writer *writer,
		       const char *path, const struct guard_answer *answer)
{
	struct change change = { .serial = writer->serial ? writer->serial : UINT64_MAX,
				 .knows = answer->knows };

	if (file_change_known(segment, answer->file_key, note_write_start, &change) < 0 && path[0])
		(void)file_update(segment, path, NULL, note_write_start, &change);
}

void guard_finish_write(const struct segment *segment, const struct guard_writer *writer,
			uint64_t file_key, const struct version *version, uint32_t knows)
{
	struct change change = { version, writer->serial, knows,
				 source_of_process(writer->context->flags, writer->role),
				 scope_head(segment, writer->scope_id) };
	struct version baseline;

	/* The baseline first: between both, what is on disk is one or the other. */
	if (writer->scope_id && (knows & GUARD_KNEW) && !version_is_none(version) &&
	    ((knows & GUARD_WHOLE) || baseline_at(segment, writer->scope_id, file_key, &baseline)))
		baseline_given(segment, writer->scope_id, file_key, version);
	(void)file_change_known(segment, file_key, note_write_finish, &change);
}

static void note_cancel(struct file_slot *file, const void *data)
{
	const struct guard_writer *writer = data;

	if (file->writer != writer->serial && writer->serial)
		return;
	file->writer = 0;
	file->flags &= ~(uint32_t)(FILE_WRITER_KNEW | FILE_WRITER_WHOLE);
}

void guard_cancel(const struct segment *segment, const struct guard_writer *writer,
		  uint64_t file_key)
{
	(void)file_change_known(segment, file_key, note_cancel, writer);
}

uint64_t guard_unfinished(const struct segment *segment, uint64_t file_key, uint32_t *ret_knows)
{
	struct file_slot file;

	*ret_knows = 0;
	if (file_find(segment, file_key, &file) < 0)
		return 0;
	*ret_knows = (file.flags & FILE_WRITER_KNEW ? GUARD_KNEW : 0) |
		     (file.flags & FILE_WRITER_WHOLE ? GUARD_WHOLE : 0);
	return file.writer;
}

static void note_notice(struct file_slot *file, const void *data)
{
	(void)data;
	file->flags |= FILE_HELD_NOTICE;
}

bool guard_stored_notice(const struct segment *segment, uint64_t file_key,
			 const struct version *before, struct guard_answer *ret_answer)
{
	struct file_slot file;

	if (file_find(segment, file_key, &file) < 0 || (file.flags & FILE_HELD_NOTICE) ||
	    file_change_known(segment, file_key, note_notice, NULL) < 0)
		return false;
	segment_count(segment, COUNTER_notices_stored, 1);
	*ret_answer = (struct guard_answer){ .verdict = GUARD_WARN,
					     .reason = GUARD_NOTICE,
					     .file_key = file_key,
					     .before = *before };
	return true;
}

bool guard_has_nonce(const struct segment *segment, const void *bytes, size_t size_bytes)
{
	const char *nonce = segment->header->nonce;
	size_t length = strnlen(nonce, SEGMENT_NONCE_BYTES);

	return length && memmem(bytes, size_bytes, nonce, length) != NULL;
}

static int scan(const struct segment *segment, int fd, char *chunk, size_t chunk_bytes,
		struct version *ret_version, bool *ret_has_nonce)
{
	struct version_stream stream;
	size_t carried = 0, step = chunk_bytes - SEGMENT_NONCE_BYTES;

	*ret_has_nonce = false;
	version_stream_init(&stream);
	for (;;) {
		ssize_t got = sys_pread(fd, chunk + carried, step, (off_t)stream.size_bytes);
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		if (stream.size_bytes + (uint64_t)got > segment->settings->content_max_file_bytes)
			return -EFBIG;
		version_stream_add(&stream, chunk + carried, (uint64_t)got);
		size_t there = carried + (size_t)got;
		*ret_has_nonce = *ret_has_nonce || guard_has_nonce(segment, chunk, there);
		/* It may lie across two chunks. */
		carried = there < SEGMENT_NONCE_BYTES ? there : SEGMENT_NONCE_BYTES;
		memmove(chunk, chunk + there - carried, carried);
	}
	*ret_version = version_stream_finish(&stream);
	return 0;
}

/* Where all chunks are in use. */
__attribute__((noinline)) static int scan_on_stack(const struct segment *segment, int fd,
						   struct version *ret_version, bool *ret_has_nonce)
{
	char chunk[SMALL_CHUNK_BYTES];
	return scan(segment, fd, chunk, sizeof(chunk), ret_version, ret_has_nonce);
}

int guard_scan(const struct segment *segment, int fd, struct version *ret_version,
	       bool *ret_has_nonce)
{
	char *chunk = chunk_acquire();
	int error = chunk ? scan(segment, fd, chunk, CHUNK_BYTES, ret_version, ret_has_nonce)
			  : scan_on_stack(segment, fd, ret_version, ret_has_nonce);
	chunk_release(chunk);
	return error;
}

static void append_changer(const struct segment *segment, const struct guard_answer *answer,
			   struct line *line)
{
	char name[SCOPE_NAME_BYTES], digits[24];
	uint32_t pid;

	if (!answer->changer) {
		line_append(line, "another program");
	} else if (!scope_agent(segment, answer->changer, name, &pid) ||
		   !line_append_escaped(line, name)) {
		line_append(line, "another agent");
	} else {
		line_append(line, " (pid ");
		*decimal_write(digits, pid) = '\0';
		line_append(line, digits);
		line_append(line, ")");
	}
}

size_t guard_format_message(const struct segment *segment, const struct guard_answer *answer,
			    const char *path, char *ret_line, size_t capacity)
{
	struct line line = { ret_line, 0, capacity };
	char digits[VERSION_DIGITS + 1];
	const char *name = path_relative(segment, path);
	bool denied = answer->verdict == GUARD_DENY;

	if (answer->verdict == GUARD_PASS || capacity < 2)
		return 0;
	line_append(&line, "seen: ");
	if (!line_append_escaped(&line, name))
		return 0;
	if (answer->reason == GUARD_NOTICE)
		line_append(&line,
			    ": not written: it is a notice of seen, and no content of a file");
	else if (answer->reason == GUARD_UNREAD)
		line_append(&line, denied ? ": not overwritten: it was never read; read it first"
					  : ": overwritten though it was never read");
	else if (denied) {
		line_append(&line, ": not overwritten: ");
		append_changer(segment, answer, &line);
		line_append(&line, " changed it since it was read; read it again first");
	} else {
		line_append(&line, ": ");
		append_changer(segment, answer, &line);
		line_append(&line, " changed it since it was read, and this overwrites that");
	}
	if (answer->kept && !denied) {
		version_digits(&answer->before, digits);
		line_append(&line, "; what it held is kept: seen restore ");
		(void)line_append_escaped(&line, name);
		line_append(&line, " ");
		line_append(&line, digits);
	}
	return line_finish(&line);
}
