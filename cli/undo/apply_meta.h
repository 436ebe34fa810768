/* Modes, owners, times and extended attributes. */
#ifndef SEEN_CLI_APPLY_META_H
#define SEEN_CLI_APPLY_META_H

#include "cli/undo/applying.h"

/* Items.  Each returns an enum doing_answer or a negative errno. */
int apply_meta(struct doing *doing);
int apply_attribute(struct doing *doing);

/* apply_log_attributes(): the extended attributes of what an item removes, before its REMOVED record.
 * Returns 0 or a negative errno. */
int apply_log_attributes(struct doing *doing);

/* apply_meta_descriptor(), apply_meta_name(): gives a file its mode and owner, and its modification
 * time where that is wanted.  An owner that is not permitted is let be.  Of a name: no symbolic link
 * is followed. */
int apply_meta_descriptor(int fd, const struct pack_state *wanted, bool time);
int apply_meta_name(int directory, const char *name, const struct pack_state *wanted, bool time);

/* apply_meta_writable(): lets the owner of the file that is there read and write it, or no more than before.  Returns
 * 0 or a negative errno: -EACCES: it is another's. */
int apply_meta_writable(const struct doing *doing, bool writable);

/* apply_open_directory(): makes the directory of an item writable for its owner, where it is not;
 * apply_close_directories(): all are as they were.  Returns 0, or a negative errno: it is not so.
 * apply_reclose_directories(): so are those that an undo had open that was interrupted. */
int apply_open_directory(struct doing *doing);
void apply_close_directories(struct applying *applying);
void apply_reclose_directories(struct applying *applying);

#endif
