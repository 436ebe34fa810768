/* One trapped call, while it is inspected: what is known of it, and the names that it was given. */
#ifndef SEEN_SUPERVISE_TRAPPED_H
#define SEEN_SUPERVISE_TRAPPED_H

#include <sys/stat.h>

#include "shim/call/call.h"
#include "shim/supervise/exchange.h"
#include "shim/supervise/resolve.h"
#include "tracker/content/fate.h"

struct trapped {
	struct targets *targets;
	const struct supervision *supervision;
	struct exchange *exchange;
	struct target *target;
	const struct system_call *form;
};

/* A name of a call, with the texts that it points to. */
struct name {
	struct named named;
	char path[SEGMENT_PATH_BYTES]; /* `named` may begin behind its /proc/self/cwd */
	char base[SEGMENT_PATH_BYTES];
	char normal[SEGMENT_PATH_BYTES];
};

/* trapped_argument(), trapped_directory(): an argument of the call.  place: of the directory NO_PLACE, too: AT_FDCWD. */
static inline uint64_t trapped_argument(const struct trapped *trapped, int place)
{
	return trapped->exchange->call->data.args[place];
}

static inline int trapped_directory(const struct trapped *trapped, int place)
{
	return place == NO_PLACE ? AT_FDCWD : (int)trapped_argument(trapped, place);
}

/* trapped_name(): reads a name that a call was given.  changes: what it stands for is about to be
 * changed; then the current directory is asked for again, which others may have given another name.
 * False when the kernel will find it wrong, or it cannot be read.
 * trapped_locate(): learns what its path stands for, which is another than was read. */
bool trapped_name(const struct trapped *trapped, int directory_at, int path_at, bool changes,
		  struct name *ret_name);
void trapped_locate(const struct trapped *trapped, struct name *name);

/* trapped_inspect(): what a name stands for, as the process finds it: through its own root,
 * directory or descriptor, which leads right behind symbolic links, too, where the normalized text
 * does not.  Only absolute links are followed from our root.  Returns 0 or a negative errno.
 * trapped_is_there(): is there something by that name, before the call is made?  Where it cannot be
 * inspected: `otherwise`. */
long trapped_inspect(const struct trapped *trapped, const struct named *named, bool follows,
		     struct stat *ret_stat);
bool trapped_is_there(const struct trapped *trapped, const struct named *named, bool follows,
		      bool otherwise);

/* trapped_give_up(): the process may not be inspected.  That is counted, and where a rule is to hold
 * (is_strict) the call fails (exchange->refusal). */
void trapped_give_up(const struct trapped *trapped);

/* trapped_note(): the call changes that file.  trapped_count(): the process did something. */
void trapped_note(const struct trapped *trapped, const struct named *named, enum file_action kind);
void trapped_count(const struct trapped *trapped, enum process_count what);

#endif
