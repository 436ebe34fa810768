/*
 * Has a file changed behind an agent's back: by an external writer, or by another agent of the
 * session?
 *
 * The watcher of `seen run` notes such changes as they happen.  Where none runs, or it has not come
 * to one yet, this finds them: it hashes the file, if some scope has a baseline of it.
 */
#ifndef SEEN_CLI_CHANGED_FILE_H
#define SEEN_CLI_CHANGED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/version.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

struct changed_file {
	struct version version; /* on disk; none: it is gone */
	uint64_t realtime_ns;   /* of the change */
	uint32_t source;
	/* the scope of the agent of this session that did it; 0: an external writer did */
	uint64_t changer;
};

/* changed_file(): inspects a file on record.  A change that is not on record yet is noted and
 * logged.
 *
 * journal: may be unmapped.  scope_id: of the agent that asks; 0: none.  before: the file's slot.
 * Returns false for one that has not changed, or whose change was reported already, and where that
 * cannot be known. */
bool changed_file(const struct segment *segment, struct journal *journal, uint64_t scope_id,
		  const char *path, const struct file_slot *before,
		  struct changed_file *ret_changed);

/* changed_file_reported(): that change is not to be reported again; another one that came since
 * is. */
void changed_file_reported(const struct segment *segment, uint64_t key,
			   const struct changed_file *changed);

#endif
