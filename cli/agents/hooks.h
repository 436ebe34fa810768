/*
 * Hooks: what has an agent tell when its conversation is another one, or shorter than it was, by
 * `seen forget --hook`; and what it does and was given, by `seen answer hook`.  Which agents there are for is in hooks.def, what they run in
 * config/data/hooks, what for in docs/hooks.md.
 *
 * An agent's settings are its user's: hooks are put in and taken out as text (json_edit.h), and the
 * file is replaced as a whole or not at all.
 */
#ifndef SEEN_CLI_HOOKS_H
#define SEEN_CLI_HOOKS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum hooks_form { HOOKS_MERGED, HOOKS_FILE };

struct hooks_agent {
	const char *name;
	const char *alias; /* NULL: none */
	enum hooks_form form;
	const char *user, *project; /* places: hooks.def */
	const char *data;           /* as shipped: what ends a conversation */
	const char *answers;        /* the same, and what the agent asks; NULL: there is none */
	const char *tried;          /* NULL: not */
	const char *note;           /* NULL: none */
	const char *package;        /* hooks.def; NULL: none */
	const char *remedy;         /* the command that installs them, for a person */
};

enum hooks_state {
	HOOKS_ABSENT,
	HOOKS_INSTALLED,
	/* some of them, or those of another seen: installing them again sets it right */
	HOOKS_OTHER,
	HOOKS_UNKNOWN, /* the file cannot be read, or is not what it should be */
};

enum { HOOKS_FAULT_BYTES = 512 };

/* Which hooks: HOOKS_ANSWER where an agent has no such is HOOKS_FORGET. */
enum hooks_kind { HOOKS_ANSWER, HOOKS_FORGET, HOOKS_KINDS };

/* Where an agent's hooks are, and how that is. */
struct hooks_place {
	char path[PATH_MAX];
	enum hooks_state state;
	enum hooks_kind kind; /* HOOKS_INSTALLED: which */
	bool is_off;          /* the file says that no hook is to be run */
	bool exists;
	/* why it is not known, or cannot be done; for a person, the path in it where that
	 * matters */
	char fault[HOOKS_FAULT_BYTES];
};

/* hooks_count(), hooks_at(): the agents, by name. */
size_t hooks_count(void);
const struct hooks_agent *hooks_at(size_t index);

/* hooks_find(): by name or alias; NULL: there is none. */
const struct hooks_agent *hooks_find(const char *name);

/* hooks_expand(): the first of the places of a pattern, divided by `|`, that is known: `$NAME/...`
 * where that variable is set, `~/...` where there is a home.  Returns 0; -ENOENT where none is;
 * -ENAMETOOLONG. */
int hooks_expand(const char *places, char *ret_path, size_t capacity);

/* hooks_inspect(): where an agent's hooks are, and whether they are there.  Reads only.
 *
 * project: NULL: the user's own; else those of that directory, "": of the current one. */
void hooks_inspect(const struct hooks_agent *agent, const char *project,
		   struct hooks_place *ret_place);

/* hooks_warn(): before they are installed: messages of what keeps the agent from running them, or
 * has it wait.  place: of hooks_inspect(). */
void hooks_warn(const struct hooks_agent *agent, const struct hooks_place *place);

/* hooks_text(): what is to be in the file, or in it under "hooks", as it would be there alone;
 * NULL: out of memory.  The caller frees it. */
char *hooks_text(const struct hooks_agent *agent, enum hooks_kind kind);

/* hooks_install(), hooks_remove(): as their names say.  Hooks of the other kind are replaced.
 *
 * place: as hooks_inspect() left it; its state is its result, its fault why not.
 * Returns 1 when the file was changed, 0 when there was nothing to do; -EEXIST when it is not what
 * can be changed without harm (it is left); other errors of writing. */
int hooks_install(const struct hooks_agent *agent, struct hooks_place *place, enum hooks_kind kind);
int hooks_remove(const struct hooks_agent *agent, struct hooks_place *place);

#endif
