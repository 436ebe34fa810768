/* Files that changed behind an agent's back: see changed_file.h. */
#include "cli/files/changed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/session/file_record.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/guard/guard.h"
#include "tracker/process/scope.h"
#include "tracker/sys/sys.h"

/* What a file is on disk. */
struct disk_state {
	struct version version; /* none: it is gone */
	struct stat stat;
	uint64_t realtime_ns; /* of the change, as far as that is known afterwards */
};

/* Returns false for what cannot be read: nothing is known of it. */
static bool inspect(const char *path, struct disk_state *ret_state)
{
	struct content content;
	uint64_t now_ns = sys_realtime_ns();
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	*ret_state = (struct disk_state){ .realtime_ns = now_ns };
	if (fd == -ENOENT || fd == -ENOTDIR)
		return true;
	if (fd < 0)
		return false;
	int error = sys_fstat(fd, &ret_state->stat);
	if (error == 0)
		error = S_ISREG(ret_state->stat.st_mode)
				? content_of_descriptor(fd, UINT64_MAX, &content)
				: -EISDIR;
	(void)sys_close(fd);
	if (error < 0)
		return false;
	ret_state->version = content.version;
	uint64_t modified_ns = (uint64_t)ret_state->stat.st_mtim.tv_sec * 1000000000u +
			       (uint64_t)ret_state->stat.st_mtim.tv_nsec;
	if (modified_ns < now_ns)
		ret_state->realtime_ns = modified_ns;
	return true;
}

/* When the agent last knew what is in it. */
static uint64_t last_known_ns(const struct file_slot *file)
{
	return file->agent_read_realtime_ns > file->mention_realtime_ns
		       ? file->agent_read_realtime_ns
		       : file->mention_realtime_ns;
}

/* Is it on record already, as a change that the agent does not know, that an external writer made
 * this of it?  What the session wrote upon such a change is on record so, too; what was modified
 * after that is another one. */
static bool is_recorded(const struct file_slot *file, const struct disk_state *state)
{
	return file->user_edit_realtime_ns > last_known_ns(file) &&
	       version_equal(&file->external, &state->version) &&
	       (file->last_edit_realtime_ns <= file->user_edit_realtime_ns ||
		state->realtime_ns <= file->last_edit_realtime_ns);
}

struct found {
	const struct disk_state *state;
	enum source source;
	uint32_t edits;
	bool *ret_noted;
};

static void note_found(struct file_slot *file, const void *data)
{
	const struct found *found = data;
	uint64_t known_ns = last_known_ns(file);

	if (known_ns < file->last_edit_realtime_ns)
		known_ns = file->last_edit_realtime_ns;
	*found->ret_noted = !file->writer && file->edits == found->edits &&
			    !is_recorded(file, found->state);
	if (!*found->ret_noted)
		return;
	/* A time of modification can be set to anything; the change came after the last read and
	 * edit, else it would be known. */
	file_note_external(file, &found->state->version, found->source,
			   found->state->realtime_ns > known_ns ? found->state->realtime_ns
								: sys_realtime_ns());
}

/* Puts a change on record that was not noted. */
static void find_out(const struct segment *segment, struct journal *journal, const char *path,
		     struct file_slot *file, const struct disk_state *state)
{
	bool noted = false;
	struct found found = { state,
			       guard_lives_unobserved(segment) ? SOURCE_UNATTRIBUTED : SOURCE_USER,
			       file->edits, &noted };

	if (file_change_known(segment, file->key, note_found, &found) < 0 || !noted)
		return;
	struct file_record record = { .path = path,
				      .dev = state->stat.st_dev,
				      .ino = state->stat.st_ino,
				      .before = file->version,
				      .after = state->version,
				      .source = found.source,
				      .tid = (uint32_t)getpid() };
	file_record_changed(segment, journal, &record, true);
	(void)file_find(segment, file->key, file);
}

/* Did a writer external to the session make this of the file? Whatever any scope knew of it before
 * what was known last is the past. */
static bool is_external(const struct segment *segment, const struct file_slot *file,
			const struct disk_state *state)
{
	struct version newest;
	uint64_t since_ns;

	if (version_is_none(&state->version))
		return !(file->flags & FILE_REMOVED);
	return !version_equal(&file->written, &state->version) &&
	       baseline_newest(segment, file->key, &newest, &since_ns) &&
	       !version_equal(&newest, &state->version);
}

/* Does the agent of that scope take the file for another version than the one there, of which
 * another agent's scope is the author? */
static bool is_unknown_to(const struct segment *segment, uint64_t scope_id, uint64_t changer,
			  const struct file_slot *file, const struct disk_state *state)
{
	struct version known;
	uint64_t head = scope_head(segment, scope_id);

	return head && head != changer && baseline_of(segment, scope_id, file->key, &known) &&
	       !version_equal(&known, &state->version);
}

/* The scope of the agent of this session that made this of the file, unknown to the agent above
 * this command; without one, to any that lives.  0: none did. */
static uint64_t changer_of(const struct segment *segment, uint64_t scope_id,
			   const struct file_slot *file, const struct disk_state *state)
{
	uint64_t changer = version_equal(&file->written, &state->version)    ? file->written_scope
			   : version_equal(&file->external, &state->version) ? file->external_scope
									     : 0;

	if (!changer)
		return 0;
	if (scope_id)
		return is_unknown_to(segment, scope_id, changer, file, state) ? changer : 0;
	for (uint64_t i = 0; i < segment->capacity[TABLE_SCOPES]; i++) {
		const struct scope_slot *slot = segment_slot(segment, TABLE_SCOPES, i);
		uint64_t id = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
		if (id && is_unknown_to(segment, id, changer, file, state) &&
		    baseline_scope_lives(segment, id))
			return changer;
	}
	return 0;
}

bool changed_file(const struct segment *segment, struct journal *journal, uint64_t scope_id,
		  const char *path, const struct file_slot *before,
		  struct changed_file *ret_changed)
{
	struct file_slot file;
	struct disk_state state;

	/* What the session writes to at this moment is not read through. */
	if (!(before->flags & FILE_HAS_BASELINE) || before->writer || !inspect(path, &state) ||
	    file_find(segment, before->key, &file) < 0 || file.writer ||
	    file.edits != before->edits)
		return false;
	*ret_changed = (struct changed_file){ .version = state.version,
					      .realtime_ns = file.last_edit_realtime_ns,
					      .source = file.source,
					      .changer = changer_of(segment, scope_id, &file,
								    &state) };
	if (ret_changed->changer)
		return !(file.flags & FILE_CHANGE_REPORTED);
	if (!is_external(segment, &file, &state))
		return false;
	if (!is_recorded(&file, &state))
		find_out(segment, journal, path, &file, &state);
	if (!is_recorded(&file, &state) || (file.flags & FILE_CHANGE_REPORTED))
		return false;
	ret_changed->realtime_ns = file.user_edit_realtime_ns;
	/* What happened last need not be the change. */
	ret_changed->source = file.source != SOURCE_UNATTRIBUTED ? SOURCE_USER
								 : SOURCE_UNATTRIBUTED;
	return true;
}

static void note_reported(struct file_slot *file, const void *data)
{
	const struct changed_file *changed = data;

	if ((changed->changer ? file->last_edit_realtime_ns : file->user_edit_realtime_ns) ==
	    changed->realtime_ns)
		file->flags |= FILE_CHANGE_REPORTED;
}

void changed_file_reported(const struct segment *segment, uint64_t key,
			   const struct changed_file *changed)
{
	(void)file_change_known(segment, key, note_reported, changed);
}
