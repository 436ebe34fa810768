/* Rules inside a process: their verdict on a call, before it is made (tracker/guard/rule.h). */
#ifndef SEEN_SHIM_RULES_H
#define SEEN_SHIM_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* rules_start(): tells which rules speak of this program; at the start of the process.  name: what
 * it goes by. */
void rules_start(const char *executable, const char *name);

/* rules_let(): do the rules let a call pass?  To be asked where rule_may_hold(&shim.rules, ops).
 *
 * ops: enum rule_op, what the call would do to this path (rule.h).  directory, path: as given to
 * the call, which may be anything.
 * follows: the call goes through a symbolic link at the path's end.
 * The verdict is recorded, counted, and reported to the agent.  False: the call has to fail; errno
 * says why. */
bool rules_let(uint32_t ops, int directory, const char *path, bool follows);

/* rules_let_name(): the same by the name alone: the file is judged when it is open, by
 * rules_let_opened(). */
bool rules_let_name(uint32_t ops, int directory, const char *path, bool follows);

/* rules_let_opened(): do the rules let a file be read, or written to, that a call has opened as `fd`?
 * To be asked where rule_denies_file(&shim.rules, ops).  False: as above, and `fd` is closed. */
bool rules_let_opened(uint32_t ops, int fd);

/* rules_let_two(): the same for a call about two names. */
struct rules_name {
	uint32_t ops;
	int directory;
	const char *path;
	bool follows;
};
bool rules_let_two(struct rules_name first, struct rules_name second);

/* rules_let_descriptor(): the same for what a descriptor is open for. */
bool rules_let_descriptor(uint32_t ops, int fd);

/* rules_let_program(): the same for a program about to be started.  directory, path: as struct
 * launch_place.  searches: a name without a slash is looked for by PATH. */
bool rules_let_program(int directory, const char *path, bool searches);

#endif
