/* What is asked of the changes that a plan is made from. */
#ifndef SEEN_CLI_SCHEDULE_FIND_H
#define SEEN_CLI_SCHEDULE_FIND_H

#include "cli/undo/schedule_making.h"

/* making_find(): the change of a path; NULL: there is none. */
const struct tree_change *making_find(const struct making *making, const char *path);

/* making_carrier(): the change of a directory above that takes this one's thing along; NULL: it is
 * renamed by itself.  change: with moved_from. */
const struct tree_change *making_carrier(const struct making *making,
					 const struct tree_change *change);

/* making_destination(): where what has a path comes by the rename of a directory above it.  False: it does not.  ret_path:
 * PACK_PATH_BYTES_MAX + 1; may be written to in any case. */
bool making_destination(const struct making *making, const char *path, char *ret_path);

/* making_goes_along(): is a directory that is not wanted by its name taken along by a renamed one above, to a name by which a
 * directory is wanted, and where none stays? */
bool making_goes_along(const struct making *making, const struct tree_change *change);

/* making_is_taken(): is a directory above a path one that was renamed, or has the name of one, so that what is
 * there now goes with it?  left: also where that directory is left. */
bool making_is_taken(const struct making *making, const char *path, bool left);

/* making_is_sound(): can the content of an entry be read?  Asked before anything is done. */
bool making_is_sound(const struct making *making, const struct tree_entry *wanted);

/* making_add_merged(): a change gets a content of its own, which is taken over where 0 is returned; or -ENOMEM. */
int making_add_merged(struct making *making, size_t index, const struct merge_text *text,
		      enum schedule_verb verb, size_t conflicts);

/* making_has_content(): is what is at a path a file with the content of an entry?
 * making_is_alike(): found: what is there.  Another file than the wanted one has no extended attributes, either: those
 * that are wanted get items of their own. */
bool making_has_content(const struct making *making, const struct tree_entry *wanted,
			const char *path);
bool making_is_alike(const struct making *making, const struct tree_entry *wanted,
		     const struct tree_entry *found, const char *path);

/* making_has_left_content(): an external program may have set the modification time back behind its edit.  False: what is
 * there is not what the session left; true also where that is not on record. */
bool making_has_left_content(const struct making *making, const struct tree_change *change);

#endif
