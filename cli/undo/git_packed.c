/* Refs that another git packed since: see git_packed.h. */
#include "cli/undo/git_packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/file_history.h"
#include "cli/undo/git_path.h"
#include "cli/undo/git_unit.h"
#include "cli/undo/schedule_find.h"

enum { REF_BYTES_MAX = 4096 };

/* Was each state that the session left there the one that it found later, since the range began? */
static bool is_own(const struct file_history *history, uint64_t from_ns)
{
	bool own = true;

	for (size_t i = 1; i < history->count && own; i++)
		own = history->changes[i].record->time_ns <= from_ns ||
		      history->changes[i].continues ||
		      file_state_is(&history->changes[i - 1].after, &history->changes[i].before);
	return own;
}

/* Does a file that the session left name an object?  oid_bytes: its size. */
static bool names(const struct making *making, const struct file_state *left,
		  const unsigned char *oid, size_t oid_bytes)
{
	const struct tree_entry entry = { .exists = true,
					  .known = true,
					  .mode = S_IFREG,
					  .content = TREE_KEPT,
					  .record = left->content };
	unsigned char left_oid[GIT_OID_BYTES_MAX];
	char *text = NULL;
	size_t size = 0;
	bool same = left->content &&
		    tree_entry_read(making->records, &entry, REF_BYTES_MAX, &text, &size) == 0 &&
		    git_oid_read(text, size, left_oid) == oid_bytes &&
		    memcmp(left_oid, oid, oid_bytes) == 0;

	free(text);
	return same;
}

static unsigned fate_of(const struct making *making, const struct tree_change *change,
			const struct file_history *history, const unsigned char *oid,
			size_t oid_bytes)
{
	const struct file_state *left = &history->changes[history->count - 1].after;
	unsigned fate = making->fates[change - making->changes->changes];

	if (!left->known || !left->exists)
		return fate;
	if (!change->before.exists)
		return FATE_LEFT + (making->options->force ? SCHEDULE_LOST : SCHEDULE_EXTERNAL);
	if (fate != FATE_LEFT + SCHEDULE_EXTERNAL || !is_own(history, change->first_time_ns) ||
	    !names(making, left, oid, oid_bytes))
		return fate;
	return making_is_sound(making, &change->before) ? FATE_OPEN : FATE_LEFT + SCHEDULE_DAMAGED;
}

int git_packed_judge(struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	struct git_unit *unit = git_unit_of(making, index);
	unsigned char *fate = &making->fates[index], oid[GIT_OID_BYTES_MAX];
	struct file_history history = { .count = 0 };

	if (*fate == FATE_APART || change->after.exists || change->moved_from || change->moved_to ||
	    !change->before.known || S_ISDIR(change->before.mode) ||
	    making->git->classes[index] != GIT_STATE || !git_path_is_ref(change->path))
		return 0;
	size_t oid_bytes = git_unit_value(making, unit, GIT_NOW, git_unit_below(unit, change->path),
					  oid);
	if (!oid_bytes)
		return 0;
	int error = file_history_read(making->records, change->path, true, &history);
	if (error == 0 && history.count)
		*fate = (unsigned char)fate_of(making, change, &history, oid, oid_bytes);
	file_history_free(&history);
	return error;
}
