/*
 * The options as a table: what config/options.def says, for code that walks over options (parsing,
 * `seen config`, documentation, flags).  Read-only data, no state.
 */
#ifndef SEEN_CONFIG_OPTION_H
#define SEEN_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* OPTION_notice_min_bytes, ...: index into the table, spelled as the fields of struct settings */
#define NUMBER(section, name, value, min, max, workspace, flag, unit, doc) \
	OPTION_##section##_##name,
#define CHOICE(section, name, value, workspace, flag, doc) OPTION_##section##_##name,
#define TEXT(section, name, value, workspace, flag, doc) OPTION_##section##_##name,
#define LIST(section, name, value, workspace, flag, doc) OPTION_##section##_##name,
enum option_id {
#include "config/options.def"
	OPTION_COUNT
};
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef LIST

/* The keys of each [agent NAME] section; a table of its own, see option_profile_at(). */
enum profile_option_id {
	PROFILE_OPTION_MAX_OUTPUT_BYTES,
	PROFILE_OPTION_STATE,
	PROFILE_OPTION_TESTED,
	PROFILE_OPTION_EDIT_PATTERN,
	PROFILE_OPTION_TRANSCRIPT,
	PROFILE_OPTION_RECORD,
	PROFILE_OPTION_COMPACTION,
	PROFILE_OPTION_SPOOL,
	PROFILE_OPTION_MEASURED,
	PROFILE_OPTION_MAX_OUTPUT_LINES,
	PROFILE_OPTION_MAX_LINE_BYTES,
	PROFILE_OPTION_KEEPS,
	PROFILE_OPTION_SETTINGS,
	PROFILE_OPTION_SANDBOX,
	PROFILE_OPTION_COUNT
};

/* The keys of each [rule NAME] section; see option_of_rule_at(). */
enum rule_option_id {
	RULE_OPTION_OP,
	RULE_OPTION_PATH,
	RULE_OPTION_EXCEPT,
	RULE_OPTION_WHERE,
	RULE_OPTION_EXE,
	RULE_OPTION_EXCEPT_EXE,
	RULE_OPTION_ACTION,
	RULE_OPTION_COUNT
};

enum option_kind { OPTION_NUMBER, OPTION_CHOICE, OPTION_TEXT, OPTION_LIST };

/* What the untrusted .seen.ini of a workspace may do; the words are explained in options.def. */
enum option_rule {
	OPTION_RULE_NEVER,
	OPTION_RULE_LOWER,
	OPTION_RULE_LIMIT,
	OPTION_RULE_HIGHER,
	OPTION_RULE_LATER,
	OPTION_RULE_EXTEND,
};

enum {
	OPTION_TEMPLATE_BYTES_MAX = 1024, /* [notice] template */
	OPTION_ENVIRONMENT_BYTES = 96,    /* room for the longest SEEN_SECTION_NAME and its NUL */
};

struct option {
	const char *section;
	const char *name;
	enum option_kind kind;
	enum option_rule rule;
	const char *value; /* the default; for a CHOICE its constant: see option_default() */
	uint64_t min, max; /* NUMBER: the allowed range, both ends included */
	const char *const *choices; /* CHOICE: words, loosest first; else NULL */
	size_t choice_count;        /* CHOICE; else 0 */
	const char *flag;           /* long option without its dashes, "" for none */
	const char *unit;           /* NUMBER: a word for a person; else "" */
	const char *doc;            /* a phrase without a full stop */
	/* of its field in struct settings; 0 for the key of a profile or rule */
	size_t settings_offset;
};

/* option_at(): the option of an id.  id: below OPTION_COUNT.  Never NULL; static. */
const struct option *option_at(size_t id);

/* option_profile_at(): the same for the keys of [agent NAME].  id: below PROFILE_OPTION_COUNT. */
const struct option *option_profile_at(size_t id);

/* option_of_rule_at(): the same for the keys of [rule NAME].  id: below RULE_OPTION_COUNT. */
const struct option *option_of_rule_at(size_t id);

/* option_has_variable(): whether a variable of the environment sets it: not the key of a profile or
 * rule. */
bool option_has_variable(const struct option *option);

/* option_find(): the id of [section] name, or OPTION_COUNT.  Case matters. */
size_t option_find(const char *section, const char *name);

/* option_find_flag(): the id of the option with that flag (without dashes), or OPTION_COUNT. */
size_t option_find_flag(const char *flag);

/* option_find_environment(): the id of the option that the variable sets, or OPTION_COUNT. */
size_t option_find_environment(const char *variable);

/* option_environment(): the variable that sets an option, SEEN_SECTION_NAME.  Always fits. */
void option_environment(const struct option *option, char ret_name[OPTION_ENVIRONMENT_BYTES]);

/* option_default(): the default as seen.ini would write it; static. */
const char *option_default(const struct option *option);

/* option_is_directory(): whether the option names a directory; such a text is made absolute when
 * set. */
bool option_is_directory(const struct option *option);

/* option_is_lenient(): whether a value that is no number, or too low, stands for the default, and one
 * that is too high for the highest, instead of being refused. */
bool option_is_lenient(const struct option *option);

/* option_bare_value(): what the option's flag stands for without a value, as in --confine; static.
 * NULL: it needs one. */
const char *option_bare_value(const struct option *option);

/* option_words(): the only words that a LIST takes, and their number; NULL: it takes any.  Commas
 * stand between them as spaces do. */
const char *const *option_words(const struct option *option, size_t *ret_count);

/* option_sections(): the names of all sections, in the order of options.def, and their number. */
const char *const *option_sections(size_t *ret_count);

/* option_rule_text(): what a workspace's .seen.ini may do with the option, as a phrase; static. */
const char *option_rule_text(enum option_rule rule);

/* option_kind_text(): "number", "choice", "text" or "list"; static. */
const char *option_kind_text(enum option_kind kind);

#endif
