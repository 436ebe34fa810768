/*
 * What `seen replay` counts: sums by category of repeat and by setting, and their names.
 */
#ifndef SEEN_CLI_REPLAY_SUMS_H
#define SEEN_CLI_REPLAY_SUMS_H

#include <stdint.h>

struct replay_sum {
	uint64_t count, bytes, tokens;
};

/* REPLAY_CATEGORY(constant, word, text) */
#define REPLAY_CATEGORIES(REPLAY_CATEGORY) \
	REPLAY_CATEGORY(IDENTICAL, "identical", "given as it is before") \
	REPLAY_CATEGORY(COVERED, "covered", "each line given before, in other parts") \
	REPLAY_CATEGORY(CHANGED, "changed", "whole files again, changed since") \
	REPLAY_CATEGORY(COMPACTED, "after_compaction", "given before the context was compacted") \
	REPLAY_CATEGORY(OTHER_SCOPE, "other_scope", "given to another context alone")

enum replay_category {
#define REPLAY_CATEGORY(constant, word, text) REPLAY_##constant,
	REPLAY_CATEGORIES(REPLAY_CATEGORY)
#undef REPLAY_CATEGORY
		REPLAY_CATEGORY_COUNT,
};

/* REPLAY_SETTING(constant, word, text) */
#define REPLAY_SETTINGS(REPLAY_SETTING) \
	REPLAY_SETTING(NOTICE, "notice", "whole files: [notice]") \
	REPLAY_SETTING(RANGES, "ranges", "whole files given in parts") \
	REPLAY_SETTING(DIFF, "diff", "changed files: on_change = diff") \
	REPLAY_SETTING(REQUESTS, "requests", "commands again: [requests]")

enum replay_setting {
#define REPLAY_SETTING(constant, word, text) REPLAY_##constant,
	REPLAY_SETTINGS(REPLAY_SETTING)
#undef REPLAY_SETTING
		REPLAY_SETTING_COUNT,
};

/* REPLAY_HOOK(constant, word, text): what hooks answer to reads by the agent's own tools. */
#define REPLAY_HOOKS(REPLAY_HOOK) \
	REPLAY_HOOK(WHOLE, "whole", "whole files, unchanged") \
	REPLAY_HOOK(LINES, "lines", "lines, given before") \
	REPLAY_HOOK(CHANGED, "changed", "changed files: what changed") \
	REPLAY_HOOK(EDITED, "edited", "... by the agent's own edits")

enum replay_hook {
#define REPLAY_HOOK(constant, word, text) REPLAY_HOOK_##constant,
	REPLAY_HOOKS(REPLAY_HOOK)
#undef REPLAY_HOOK
		REPLAY_HOOK_COUNT,
};

/* By which way the model asked. */
enum replay_way {
	REPLAY_COMMANDS, /* a command line of its shell */
	/* the agent's own tool, which the tracker answers only where [processes] whitelist names
	 * the agent */
	REPLAY_OWN_TOOLS,
	REPLAY_WAY_COUNT,
};

/* What a setting would have done. */
struct replay_saving {
	uint64_t repeats;     /* asked for again, inside the window */
	uint64_t answered;    /* of these, with a notice or a diff */
	uint64_t given_again; /* given in full, because the model asked again soon after a notice */
	/* given in full: too short, too long, binary, or the notice would have been no shorter */
	uint64_t unfit;
	uint64_t bytes; /* not given again, what came in their place taken off */
	uint64_t tokens;
};

/* Counts and sums alone: replay_add() adds them up as numbers. */
struct replay_sums {
	struct replay_sum outputs; /* of all tool calls */
	struct replay_sum reads; /* calls that showed lines of one file, as far as they are known */
	struct replay_sum partial;  /* of these, not the whole file */
	struct replay_sum again;    /* of these, of a file that was read before in the session */
	struct replay_sum commands; /* calls of a shell or another tool that are no such read */
	struct replay_sum
		commands_again; /* of these, with the same words in the same directory before */
	struct replay_sum
		commands_identical; /* of these, with the same output, in the same context */
	struct replay_sum categories[REPLAY_CATEGORY_COUNT];
	struct replay_sum changed_as_diff; /* what the changed ones would be as unified diffs */
	struct replay_saving savings[REPLAY_SETTING_COUNT][REPLAY_WAY_COUNT];
	struct replay_saving reworded; /* of REPLAY_REQUESTS by commands: those in other words */
	/* what an earlier answer contained: given in full, and in no other saving */
	struct replay_saving contained;
	struct replay_saving hooks[REPLAY_HOOK_COUNT];
	uint64_t deliveries; /* whole files given by a viewer, or by an own tool */
	uint64_t sessions;
	uint64_t scopes;
	uint64_t compactions;
};

/* replay_add(): adds sums to others. */
void replay_add(struct replay_sums *total, const struct replay_sums *sums);

/* replay_add_since(): adds by how much sums rose. */
void replay_add_since(struct replay_sums *total, const struct replay_sums *sums,
		      const struct replay_sums *before);

/* replay_category_name(), replay_setting_name(): "identical" ..., "notice" ...; their texts for
 * people. */
const char *replay_category_name(enum replay_category category);
const char *replay_category_text(enum replay_category category);
const char *replay_setting_name(enum replay_setting setting);
const char *replay_setting_text(enum replay_setting setting);
const char *replay_hook_name(enum replay_hook hook);
const char *replay_hook_text(enum replay_hook hook);

#endif
