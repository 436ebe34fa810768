/* Contents that the undo records hold as hard links: what becomes of them while the file has other names. */
#ifndef SEEN_CLI_TREE_LINKED_H
#define SEEN_CLI_TREE_LINKED_H

#include "cli/undo/tree_record.h"

/* tree_linked_follow(): finds out which modification time each linked file has by now, as far as the
 * session set it (`linked_mtime_ns`): its bytes are the same then.  And which record kept its bytes before the session
 * wrote to it by another name (`linked_content`).
 *
 * records: all of a session, in their order.  Returns 0 or -ENOMEM. */
int tree_linked_follow(struct tree_records *records);

#endif
