/*
 * Rules for supervised processes: an access is judged before it is let pass (tracker/guard/rule.h).
 *
 * What passes libc in a process with the library inside is judged there, and not here again.  Not
 * every access is trapped (filter.h): mode, owner and times of a file are set without a question.
 */
#ifndef SEEN_SUPERVISE_RULES_H
#define SEEN_SUPERVISE_RULES_H

#include "shim/supervise/resolve.h"

/* rules_spare(): is that the program of this very process?  No rule is to hold for it, nor hinder
 * that it is started: hooks and readers run it below themselves. */
bool rules_spare(const struct supervision *supervision, const struct stat *program);

/* rules_is_session(): is that an open of the session's own segment or journal as the library and
 * `seen` make it?  They map them before they can say that a call is their own: it is no access of
 * the program that they are in. */
bool rules_is_session(const struct supervision *supervision, pid_t pid, const char *path,
		      uint32_t flags);

/* rules_refuse(): prints, once for each program, that its calls are refused, which cannot be judged. */
void rules_refuse(const struct supervision *supervision, struct target *target);

/* What a call would do to one name. */
struct rules_access {
	uint32_t ops; /* enum rule_op */
	const struct named *named;
	/* Is there something by that name?  Asked at most once, and only where a rule might
	 * hold. */
	bool (*is_there)(void *data);
	void *data;
};

/* rules_ask(): what the rules say, recorded, counted and said.  Returns 0, or -EACCES where the
 * call is to fail. */
int rules_ask(const struct supervision *supervision, struct target *target,
	      const struct rules_access *access);

/* rules_deny_file(): could a rule deny that to the file itself, by whichever name?
 * rules_ask_file(): does one?  fd: the file (O_PATH).  is_visible: the kernel's path of it leads there
 * from here (resolve_is_visible()).
 * rules_ask_new(): of a file that is about to be made.  path: as the kernel will know it.
 * Both return as rules_ask(). */
bool rules_deny_file(const struct supervision *supervision, struct target *target, uint32_t ops);
int rules_ask_file(const struct supervision *supervision, struct target *target, uint32_t ops,
		   const struct named *named, int fd, bool is_visible);
int rules_ask_new(const struct supervision *supervision, struct target *target, uint32_t ops,
		  const struct named *named, const char *path);

#endif
