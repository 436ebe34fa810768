/*
 * The options as a table, generated from options.def.
 */
#include "config/option.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "config/settings.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The words of each CHOICE option: choices_session_mode[], ... */
#define NUMBER(section, name, value, min, max, workspace, flag, unit, doc)
#define TEXT(section, name, value, workspace, flag, doc)
#define LIST(section, name, value, workspace, flag, doc)
#define WORD(constant, word) #word,
#define CHOICE(section, name, value, workspace, flag, doc) \
	static const char *const choices_##section##_##name[] = { \
		SETTINGS_CHOICES_##section##_##name(WORD) \
	};
#include "config/options.def"
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef LIST
#undef WORD

/* A choice travels as its position in the X-list; the enums of settings.h count alike. */
_Static_assert(COUNT_OF(choices_session_mode) == SESSION_MODE_OFF + 1, "session.mode");
_Static_assert(COUNT_OF(choices_session_agent_is) == SESSION_AGENT_IS_OUTSIDE + 1,
	       "session.agent_is");
_Static_assert(COUNT_OF(choices_session_via) == SESSION_VIA_BOTH + 1, "session.via");
_Static_assert(COUNT_OF(choices_paths_case_insensitive) == PATHS_CASE_INSENSITIVE_YES + 1,
	       "paths.case_insensitive");
_Static_assert(COUNT_OF(choices_notice_yield) == NOTICE_YIELD_NEVER + 1, "notice.yield");
_Static_assert(COUNT_OF(choices_journal_level) == JOURNAL_LEVEL_OFF + 1, "journal.level");
_Static_assert(COUNT_OF(choices_guard_stale_write) == GUARD_STALE_WRITE_DENY + 1,
	       "guard.stale_write");
_Static_assert(COUNT_OF(choices_guard_read_before_write) == GUARD_READ_BEFORE_WRITE_DENY + 1,
	       "guard.read_before_write");
_Static_assert(COUNT_OF(choices_notice_on_change) == NOTICE_ON_CHANGE_DIFF + 1, "notice.on_change");
_Static_assert(COUNT_OF(choices_requests_enable) == REQUESTS_ENABLE_NO + 1, "requests.enable");
_Static_assert(COUNT_OF(choices_context_inject) == CONTEXT_INJECT_VIEWERS + 1, "context.inject");
_Static_assert(COUNT_OF(choices_summary_when) == SUMMARY_WHEN_NEVER + 1, "summary.when");
_Static_assert(COUNT_OF(choices_rules_ignore_files) == RULES_IGNORE_FILES_DENY + 1,
	       "rules.ignore_files");
_Static_assert((int)RULES_IGNORE_FILES_DENY == (int)RULE_ACTION_DENY, "rules.ignore_files");
_Static_assert(COUNT_OF(choices_confine_set) == CONFINE_SET_ISOLATED + 1, "confine.set");
_Static_assert(COUNT_OF(choices_confine_network) == CONFINE_NETWORK_NO + 1, "confine.network");
_Static_assert(COUNT_OF(choices_confine_by) == CONFINE_BY_RULES + 1, "confine.by");
_Static_assert(COUNT_OF(choices_watch_mode) == WATCH_MODE_OFF + 1, "watch.mode");

/* The words of a LIST that takes no others. */
#define WORD(constant, word) #word,
static const char *const words_rules_fail_on[] = { SETTINGS_WORDS_rules_fail_on(WORD) };
#undef WORD
#define WORD(set, action) #set action,
static const char *const words_rules_use[] = { SETTINGS_WORDS_rules_use(WORD) };
#undef WORD

#define COMMON(section_, name_, kind_, workspace_, flag_, doc_) \
	.section = #section_, .name = #name_, .kind = (kind_), .rule = OPTION_RULE_##workspace_, \
	.flag = (flag_), .doc = (doc_), \
	.settings_offset = offsetof(struct settings, section_##_##name_)

#define NUMBER(section, name, number, min_, max_, workspace, flag, unit_, doc) \
	{ COMMON(section, name, OPTION_NUMBER, workspace, flag, doc), .value = #number, \
	  .min = (min_), .max = (max_), .unit = (unit_) },
#define CHOICE(section, name, constant, workspace, flag, doc) \
	{ COMMON(section, name, OPTION_CHOICE, workspace, flag, doc), .value = #constant, \
	  .unit = "", .choices = choices_##section##_##name, \
	  .choice_count = COUNT_OF(choices_##section##_##name) },
#define TEXT(section, name, text, workspace, flag, doc) \
	{ COMMON(section, name, OPTION_TEXT, workspace, flag, doc), .value = (text), .unit = "" },
#define LIST(section, name, words, workspace, flag, doc) \
	{ COMMON(section, name, OPTION_LIST, workspace, flag, doc), .value = (words), .unit = "" },
static const struct option options[OPTION_COUNT] = {
#include "config/options.def"
};
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef LIST

static const char *const choices_profile_keeps[] = { "unknown", "first", "last", "both", "none" };
static const char *const choices_edit_pattern[] = { "none", "access-write", "no-sniff" };
_Static_assert(COUNT_OF(choices_edit_pattern) == EDIT_PATTERN_NO_SNIFF + 1, "edit_pattern");

#define PROFILE .section = "agent NAME", .rule = OPTION_RULE_NEVER, .flag = ""
static const struct option profile_options[PROFILE_OPTION_COUNT] = {
	[PROFILE_OPTION_MAX_OUTPUT_BYTES] = {
		PROFILE, .name = "max_output_bytes", .kind = OPTION_NUMBER, .value = "24000",
		.min = 1, .max = 1073741824, .unit = "bytes",
		.doc = "a command that printed more than this did not reach the model whole",
	},
	[PROFILE_OPTION_STATE] = {
		PROFILE, .name = "state", .kind = OPTION_LIST, .value = "", .unit = "",
		.doc = "the agent's own files, never touched, and listed apart in reports (globs of paths, as for transcript; of $TMPDIR "
		       "and $XDG_CONFIG_HOME, CACHE, DATA and STATE the defaults where they are not set)",
	},
	[PROFILE_OPTION_TESTED] = {
		PROFILE, .name = "tested", .kind = OPTION_TEXT, .value = "generic", .unit = "",
		.doc = "the version that the profile was tried with, or generic",
	},
	[PROFILE_OPTION_EDIT_PATTERN] = {
		PROFILE, .name = "edit_pattern", .kind = OPTION_CHOICE, .value = "none", .unit = "",
		.choices = choices_edit_pattern, .choice_count = COUNT_OF(choices_edit_pattern),
		.doc = "how its own read before a write is distinguished from others, which a whitelisted agent "
		       "gets in full: none: it is not; access-write: it asks first whether it may write; "
		       "no-sniff: only other reads begin by reading the first bytes",
	},
	[PROFILE_OPTION_TRANSCRIPT] = {
		PROFILE, .name = "transcript", .kind = OPTION_LIST, .value = "", .unit = "",
		.doc = "the files in which it writes down its conversations, a JSON object a line (globs of paths; ** is any "
		       "depth; ~/ is the home directory, $NAME/ that of a variable, left out where it is not set)",
	},
	[PROFILE_OPTION_RECORD] = {
		PROFILE, .name = "record", .kind = OPTION_LIST, .value = "", .unit = "",
		.doc = "the files in which it keeps conversations in another form, which is no proof of what its model was given: "
		       "only `seen replay` reads them (globs as for transcript)",
	},
	[PROFILE_OPTION_COMPACTION] = {
		PROFILE, .name = "compaction", .kind = OPTION_LIST, .value = "", .unit = "",
		.doc = "lines there that say that the conversation was cut short: what was given before counts no more "
		       "(words: member.member=text, or member for one that is there; with commas between: all of them; + before a word: "
		       "not in the first two lines of its first conversation)",
	},
	[PROFILE_OPTION_SPOOL] = {
		PROFILE, .name = "spool", .kind = OPTION_LIST, .value = "", .unit = "",
		.doc = "the files that its commands write to, for it to read: no other file with a name is taken for such a one "
		       "(globs as for transcript)",
	},
	[PROFILE_OPTION_MEASURED] = {
		PROFILE, .name = "measured", .kind = OPTION_TEXT, .value = "", .unit = "",
		.doc = "the versions of the agent that the limits of a command's output were measured with (*: they hold for every "
		       "version): they count in full for these, by half for another one; empty: they were not measured, and what is "
		       "assumed to reach the model whole is 100 lines and 1,900 bytes, no line over 700",
	},
	[PROFILE_OPTION_MAX_OUTPUT_LINES] = {
		PROFILE, .name = "max_output_lines", .kind = OPTION_NUMBER, .value = "0",
		.min = 0, .max = 1073741824, .unit = "lines",
		.doc = "so did one that printed more lines than this; 0: it does not cut by lines",
	},
	[PROFILE_OPTION_MAX_LINE_BYTES] = {
		PROFILE, .name = "max_line_bytes", .kind = OPTION_NUMBER, .value = "0",
		.min = 0, .max = 1073741824, .unit = "bytes",
		.doc = "so did one with a longer line; 0: it does not cut lines",
	},
	[PROFILE_OPTION_KEEPS] = {
		PROFILE, .name = "keeps", .kind = OPTION_CHOICE, .value = "unknown", .unit = "",
		.choices = choices_profile_keeps, .choice_count = COUNT_OF(choices_profile_keeps),
		.doc = "which end of a longer output the model is given: for people, nothing hangs on it; none: a file's name instead",
	},
	[PROFILE_OPTION_SETTINGS] = {
		PROFILE, .name = "settings", .kind = OPTION_LIST, .value = "", .unit = "",
		.doc = "its settings: what it may do, what it runs by itself; read-only in a confined run ([confine] set; globs as for state, "
		       "./x: in the workspace)",
	},
	[PROFILE_OPTION_SANDBOX] = {
		PROFILE, .name = "sandbox", .kind = OPTION_TEXT, .value = "", .unit = "",
		.doc = "what has it run commands in a sandbox of its own, in words for people: `seen doctor` says what holds there; "
		       "empty: it has none, or none was tried",
	},
};
_Static_assert(SETTINGS_MAX_OUTPUT_BYTES == 24000, "the default of max_output_bytes above");

#define RULE_WORD(constant, word) #word,
static const char *const words_rule_op[] = { SETTINGS_RULE_OPS(RULE_WORD) "any" };
#undef RULE_WORD
_Static_assert(1 << (COUNT_OF(words_rule_op) - 1) == RULE_ANY + 1, "rule NAME.op");
static const char *const choices_rule_where[] = { "anywhere", "outside", "workspace" };
_Static_assert(COUNT_OF(choices_rule_where) == RULE_WHERE_WORKSPACE + 1, "rule NAME.where");
static const char *const choices_rule_action[] = { "off", "log", "warn", "fail", "deny" };
_Static_assert(COUNT_OF(choices_rule_action) == RULE_ACTION_DENY + 1, "rule NAME.action");

#define OF_RULE .section = "rule NAME", .unit = "", .flag = ""
static const struct option rule_options[RULE_OPTION_COUNT] = {
	[RULE_OPTION_OP] = {
		OF_RULE, .name = "op", .kind = OPTION_LIST, .rule = OPTION_RULE_EXTEND, .value = "",
		.doc = "what it speaks of; must be given. read: a file is opened to be read; write: opened for writing, or given "
		       "another size, or its name made or taken by another file; create: a name that was not there is made; delete: a name is "
		       "removed, also by being given to a file elsewhere; rename: either name; link: a hard link's either "
		       "name, a symbolic link's own; metadata: mode, owner, times, attributes; list: a directory is listed; "
		       "exec: a program is started; any: all of these",
	},
	[RULE_OPTION_PATH] = {
		OF_RULE, .name = "path", .kind = OPTION_LIST, .rule = OPTION_RULE_EXTEND, .value = "",
		.doc = "which paths (globs); empty: all. A name or x/y: at any depth, in the workspace and elsewhere; ./x: from the "
		       "workspace's root; /x: an absolute path (unlike in [paths]); ~/x: in the home directory; $NAME/x: in the "
		       "directory that a variable names, left out where it names none; @agents: what agents keep of their own, the "
		       "state of every [agent NAME]. What names a directory means all below it. No glob holds a space: ? stands for one",
	},
	[RULE_OPTION_EXCEPT] = {
		OF_RULE, .name = "except", .kind = OPTION_LIST, .rule = OPTION_RULE_EXTEND, .value = "",
		.doc = "paths that it does not mean (globs as for path)",
	},
	[RULE_OPTION_WHERE] = {
		OF_RULE, .name = "where", .kind = OPTION_CHOICE, .rule = OPTION_RULE_LATER, .value = "anywhere",
		.choices = choices_rule_where, .choice_count = COUNT_OF(choices_rule_where),
		.doc = "where the path must lie for the rule to hold: outside the workspace, or in it",
	},
	[RULE_OPTION_EXE] = {
		OF_RULE, .name = "exe", .kind = OPTION_LIST, .rule = OPTION_RULE_EXTEND, .value = "",
		.doc = "which programs' doing (globs on the executable's base name, for interpreters on the script's as well; with a slash: "
		       "on the executable's path); empty: every program's. For exec: of the program that starts another",
	},
	[RULE_OPTION_EXCEPT_EXE] = {
		OF_RULE, .name = "except_exe", .kind = OPTION_LIST, .rule = OPTION_RULE_EXTEND, .value = "",
		.doc = "programs that it does not mean (globs as for exe)",
	},
	[RULE_OPTION_ACTION] = {
		OF_RULE, .name = "action", .kind = OPTION_CHOICE, .rule = OPTION_RULE_LATER, .value = "log",
		.choices = choices_rule_action, .choice_count = COUNT_OF(choices_rule_action),
		.doc = "off: the rule does nothing; log: it is recorded; warn: and said; fail: it is done and recorded, and `seen run` ends with a "
		       "status of its own; deny: it is not done, and fails with EACCES. Where several rules hold, the last of these words",
	},
};

/* In the order of options.def; a unit test compares the two. */
static const char *const sections[] = { "session",    "processes", "paths",   "notice",  "window",
					"journal",    "guard",     "content", "undo",    "watch",
					"checkpoint", "requests",  "history", "context", "summary",
					"rules",      "confine" };

const struct option *option_at(size_t id)
{
	return &options[id];
}

const struct option *option_profile_at(size_t id)
{
	return &profile_options[id];
}

const struct option *option_of_rule_at(size_t id)
{
	return &rule_options[id];
}

bool option_has_variable(const struct option *option)
{
	return option >= options && option < options + OPTION_COUNT;
}

size_t option_find(const char *section, const char *name)
{
	for (size_t id = 0; id < OPTION_COUNT; id++)
		if (strcmp(options[id].section, section) == 0 &&
		    strcmp(options[id].name, name) == 0)
			return id;
	return OPTION_COUNT;
}

size_t option_find_flag(const char *flag)
{
	for (size_t id = 0; id < OPTION_COUNT; id++)
		if (flag[0] != '\0' && strcmp(options[id].flag, flag) == 0)
			return id;
	return OPTION_COUNT;
}

size_t option_find_environment(const char *variable)
{
	char name[OPTION_ENVIRONMENT_BYTES];

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		option_environment(&options[id], name);
		if (strcmp(name, variable) == 0)
			return id;
	}
	return OPTION_COUNT;
}

void option_environment(const struct option *option, char ret_name[OPTION_ENVIRONMENT_BYTES])
{
	const char *const parts[] = { "SEEN_", option->section, "_", option->name };
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		for (const char *c = parts[i]; *c != '\0' && used < OPTION_ENVIRONMENT_BYTES - 1;
		     c++)
			ret_name[used++] = (char)toupper((unsigned char)*c);
	ret_name[used] = '\0';
}

const char *option_default(const struct option *option)
{
	/* a choice's constant is its word in capitals */
	for (size_t i = 0; i < option->choice_count; i++)
		if (strcasecmp(option->choices[i], option->value) == 0)
			return option->choices[i];
	return option->value;
}

const char *option_bare_value(const struct option *option)
{
	return option == option_at(OPTION_confine_set) ? option->choices[CONFINE_SET_WORKSPACE]
						       : NULL;
}

bool option_is_directory(const struct option *option)
{
	return option == &options[OPTION_session_runtime_dir] ||
	       option == &options[OPTION_session_state_dir] ||
	       option == &options[OPTION_paths_workspace];
}

bool option_is_lenient(const struct option *option)
{
	return option == &options[OPTION_history_result_max_length];
}

const char *const *option_words(const struct option *option, size_t *ret_count)
{
	*ret_count = 0;
	if (option == &rule_options[RULE_OPTION_OP]) {
		*ret_count = COUNT_OF(words_rule_op);
		return words_rule_op;
	}
	if (option == &options[OPTION_rules_use]) {
		*ret_count = COUNT_OF(words_rules_use);
		return words_rules_use;
	}
	if (option != &options[OPTION_rules_fail_on])
		return NULL;
	*ret_count = COUNT_OF(words_rules_fail_on);
	return words_rules_fail_on;
}

const char *const *option_sections(size_t *ret_count)
{
	*ret_count = COUNT_OF(sections);
	return sections;
}

const char *option_rule_text(enum option_rule rule)
{
	switch (rule) {
	case OPTION_RULE_NEVER:
		return "may not set it";
	case OPTION_RULE_LOWER:
		return "may only lower it";
	case OPTION_RULE_LIMIT:
		return "may only lower it (0, no limit, counts as the highest)";
	case OPTION_RULE_HIGHER:
		return "may only raise it";
	case OPTION_RULE_LATER:
		return "may only choose a later word of the list";
	case OPTION_RULE_EXTEND:
		return "may only add words";
	}
	return "may not set it";
}

const char *option_kind_text(enum option_kind kind)
{
	static const char *const kinds[] = { "number", "choice", "text", "list" };

	return kinds[kind];
}
