/*
 * The settings of a session as plain data: generated from options.def, written once by the program
 * when it makes the segment, read by every process that maps it.  No pointers; text lives in a text
 * area beside it, as offsets.  The layout is an ABI: settings_fingerprint() (config/fingerprint.h)
 * differs between builds whose lists of options differ, and such builds never share a segment.
 *
 * This header holds no parser and calls no library: it is what the shim knows of the configuration.
 */
#ifndef SEEN_CONFIG_SETTINGS_H
#define SEEN_CONFIG_SETTINGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The choices of each CHOICE option, loosest first: X(CONSTANT, word). */
#define SETTINGS_CHOICES_session_mode(X) X(SUBSTITUTE, substitute) X(OBSERVE, observe) X(OFF, off)
#define SETTINGS_CHOICES_session_agent_is(X) X(AUTO, auto) X(INSIDE, inside) X(OUTSIDE, outside)
#define SETTINGS_CHOICES_session_via(X) \
	X(AUTO, auto) X(PRELOAD, preload) X(SUPERVISE, supervise) X(BOTH, both)
#define SETTINGS_CHOICES_session_privileges(X) X(KEEP, keep) X(DROP, drop)
#define SETTINGS_CHOICES_paths_case_insensitive(X) X(NO, no) X(YES, yes)
#define SETTINGS_CHOICES_notice_yield(X) X(INSIST, insist) X(NEVER, never)
#define SETTINGS_CHOICES_notice_on_change(X) X(FULL, full) X(DIFF, diff)
#define SETTINGS_CHOICES_requests_enable(X) X(YES, yes) X(NO, no)
#define SETTINGS_CHOICES_context_inject(X) X(OFF, off) X(VIEWERS, viewers)
#define SETTINGS_CHOICES_guard_stale_write(X) X(ALLOW, allow) X(WARN, warn) X(DENY, deny)
#define SETTINGS_CHOICES_guard_read_before_write(X) X(OFF, off) X(WARN, warn) X(DENY, deny)
#define SETTINGS_CHOICES_undo_enable(X) X(NO, no) X(YES, yes)
#define SETTINGS_CHOICES_summary_when(X) X(ALWAYS, always) X(FINDINGS, findings) X(NEVER, never)
#define SETTINGS_CHOICES_watch_mode(X) X(AUTO, auto) X(POLL, poll) X(OFF, off)
#define SETTINGS_CHOICES_journal_level(X) \
	X(ALL, all) X(WORKSPACE, workspace) X(WRITES, writes) X(OFF, off)

#define SETTINGS_CHOICES_rules_ignore_files(X) \
	X(OFF, off) X(LOG, log) X(WARN, warn) X(FAIL, fail) X(DENY, deny)
#define SETTINGS_CHOICES_confine_set(X) \
	X(OFF, off) X(SECRETS, secrets) X(WORKSPACE, workspace) X(ISOLATED, isolated)
#define SETTINGS_CHOICES_confine_network(X) X(YES, yes) X(NO, no)
#define SETTINGS_CHOICES_confine_by(X) \
	X(AUTO, auto) X(BUBBLEWRAP, bubblewrap) X(LANDLOCK, landlock) X(RULES, rules)

/* The words of a LIST that takes no others: X(CONSTANT, word). */
#define SETTINGS_WORDS_rules_use(X) \
	SETTINGS_RULE_SETS(X, "") \
	SETTINGS_RULE_SETS(X, ":log") \
	SETTINGS_RULE_SETS(X, ":warn") \
	SETTINGS_RULE_SETS(X, ":fail") SETTINGS_RULE_SETS(X, ":deny")
/* Ready-made rules: config/data/rules/SET.ini. */
#define SETTINGS_RULE_SETS(X, action) X(secrets, action) X(outside, action) X(ci, action)
#define SETTINGS_WORDS_rules_fail_on(X) X(RULE, rule) X(STALE, stale) X(UNOBSERVED, unobserved)

/* enum session_mode { SESSION_MODE_SUBSTITUTE, ... }: spelled out, so that they can be searched */
enum session_mode { SESSION_MODE_SUBSTITUTE, SESSION_MODE_OBSERVE, SESSION_MODE_OFF };
enum session_agent_is { SESSION_AGENT_IS_AUTO, SESSION_AGENT_IS_INSIDE, SESSION_AGENT_IS_OUTSIDE };
enum session_via { SESSION_VIA_AUTO, SESSION_VIA_PRELOAD, SESSION_VIA_SUPERVISE, SESSION_VIA_BOTH };
enum session_privileges { SESSION_PRIVILEGES_KEEP, SESSION_PRIVILEGES_DROP };
enum paths_case_insensitive { PATHS_CASE_INSENSITIVE_NO, PATHS_CASE_INSENSITIVE_YES };
enum notice_yield { NOTICE_YIELD_INSIST, NOTICE_YIELD_NEVER };
enum notice_on_change { NOTICE_ON_CHANGE_FULL, NOTICE_ON_CHANGE_DIFF };
enum requests_enable { REQUESTS_ENABLE_YES, REQUESTS_ENABLE_NO };
enum context_inject { CONTEXT_INJECT_OFF, CONTEXT_INJECT_VIEWERS };
enum journal_level {
	JOURNAL_LEVEL_ALL,
	JOURNAL_LEVEL_WORKSPACE,
	JOURNAL_LEVEL_WRITES,
	JOURNAL_LEVEL_OFF
};

enum guard_stale_write { GUARD_STALE_WRITE_ALLOW, GUARD_STALE_WRITE_WARN, GUARD_STALE_WRITE_DENY };
enum guard_read_before_write {
	GUARD_READ_BEFORE_WRITE_OFF,
	GUARD_READ_BEFORE_WRITE_WARN,
	GUARD_READ_BEFORE_WRITE_DENY
};
enum undo_enable { UNDO_ENABLE_NO, UNDO_ENABLE_YES };
enum summary_when { SUMMARY_WHEN_ALWAYS, SUMMARY_WHEN_FINDINGS, SUMMARY_WHEN_NEVER };
enum watch_mode { WATCH_MODE_AUTO, WATCH_MODE_POLL, WATCH_MODE_OFF };

/* As enum rule_action. */
enum rules_ignore_files {
	RULES_IGNORE_FILES_OFF,
	RULES_IGNORE_FILES_LOG,
	RULES_IGNORE_FILES_WARN,
	RULES_IGNORE_FILES_FAIL,
	RULES_IGNORE_FILES_DENY
};
enum confine_set {
	CONFINE_SET_OFF,
	CONFINE_SET_SECRETS,
	CONFINE_SET_WORKSPACE,
	CONFINE_SET_ISOLATED
};
enum confine_network { CONFINE_NETWORK_YES, CONFINE_NETWORK_NO };
enum confine_by { CONFINE_BY_AUTO, CONFINE_BY_BUBBLEWRAP, CONFINE_BY_LANDLOCK, CONFINE_BY_RULES };

/* Text in the text area: `count` strings, each ended by NUL, one behind the other from `offset`,
 * `size_bytes` in all (the NULs counted).  A TEXT option has count 1, or 0 when it is empty. */
struct settings_text {
	uint32_t offset;
	uint32_t size_bytes;
	uint32_t count;
	uint32_t reserved;
};

/* By what an agent's in-process read of a file is known that comes before its write: it gets the
 * real bytes, and says nothing of what the model has. */
enum edit_pattern {
	EDIT_PATTERN_NONE, /* by nothing */
	/* what it asked access(2) last, right before, is whether it may write to the file */
	EDIT_PATTERN_ACCESS_WRITE,
	/* reads for the model begin by reading the first bytes, this one does not */
	EDIT_PATTERN_NO_SNIFF,
};

/* One [agent NAME] section. */
struct settings_profile {
	struct settings_text name;   /* one word, as in the section's heading */
	struct settings_text state;  /* globs of paths never touched; ~/ already expanded */
	struct settings_text tested; /* a version, or "generic" */
	struct settings_text
		spool; /* globs of the files that its commands write to, for it to read */
	uint64_t max_output_bytes; /* what one command may print before the agent cuts it */
	uint64_t edit_pattern;     /* enum edit_pattern */
	struct settings_text
		measured; /* with these versions were the limits, "*": with any; none: they were not */
	uint64_t max_output_lines; /* 0: it does not cut by lines */
	uint64_t max_line_bytes;   /* 0: it does not cut lines */
};

/* What a rule may speak of, as its `op` names it: X(CONSTANT, word).  Appended to, never reordered:
 * bits of the segment. */
#define SETTINGS_RULE_OPS(X) \
	X(READ, read) \
	X(WRITE, write) \
	X(CREATE, create) \
	X(DELETE, delete) \
	X(RENAME, rename) X(LINK, link) X(METADATA, metadata) X(LIST, list) X(EXEC, exec)

/* Bits: each is described in tracker/guard/rule.h. */
enum rule_op {
	RULE_READ = 1,
	RULE_WRITE = 2,
	RULE_CREATE = 4,
	RULE_DELETE = 8,
	RULE_RENAME = 16,
	RULE_LINK = 32,
	RULE_METADATA = 64,
	RULE_LIST = 128,
	RULE_EXEC = 256,
	RULE_ANY = 511,
};

/* What a rule does, loosest first. */
enum rule_action {
	RULE_ACTION_OFF, /* nothing: as if the rule were not there */
	RULE_ACTION_LOG,
	RULE_ACTION_WARN,
	RULE_ACTION_FAIL,
	RULE_ACTION_DENY,
};

/* Where a rule holds, loosest first. */
enum rule_where { RULE_WHERE_ANYWHERE, RULE_WHERE_OUTSIDE, RULE_WHERE_WORKSPACE };

/* One [rule NAME] section.  Globs: tracker/guard/rule.h; "~/" already expanded. */
struct settings_rule {
	struct settings_text name;       /* one word, as in the section's heading */
	struct settings_text path;       /* globs; none: every path */
	struct settings_text except;     /* globs of paths that it does not mean */
	struct settings_text exe;        /* globs of programs; none: every program */
	struct settings_text except_exe; /* globs of programs that it does not mean */
	uint64_t ops;                    /* enum rule_op */
	uint64_t action;                 /* enum rule_action; never OFF */
	uint64_t where;                  /* enum rule_where */
};

enum {
	SETTINGS_PROFILES_MAX = 64,
	SETTINGS_RULES_MAX = 64,           /* as many as a word has bits */
	SETTINGS_MAX_OUTPUT_BYTES = 24000, /* the generic profile's limit */
	SETTINGS_TEXT_BYTES_MAX = 65536,   /* capacity of the text area */
};

#define NUMBER(section, name, value, min, max, workspace, flag, unit, doc) \
	uint64_t section##_##name;
#define CHOICE(section, name, value, workspace, flag, doc) uint64_t section##_##name;
#define TEXT(section, name, value, workspace, flag, doc) struct settings_text section##_##name;
#define LIST(section, name, value, workspace, flag, doc) struct settings_text section##_##name;
struct settings {
#include "config/options.def"
	uint64_t profile_count;
	/* [agent generic], for agents without a section: its index + 1; 0: there is none */
	uint64_t generic_profile;
	struct settings_profile profiles[SETTINGS_PROFILES_MAX];
	uint64_t rule_count;
	struct settings_rule rules[SETTINGS_RULES_MAX];
};
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef LIST

_Static_assert(sizeof(struct settings) % 8 == 0, "settings are read as 64-bit words");
_Static_assert(sizeof(struct settings_text) == 16, "settings_text is part of the segment's ABI");

/* settings_text_next(): walks a text value.
 *
 * area, area_bytes: the text area and its capacity in bytes.  text: the value.  previous: NULL for
 * the first string, else what the last call returned.  Returns the next string, or NULL at the end
 * or when the value does not lie wholly inside the area (damage is read as "no more").
 * Async-signal-safe; borrows, owns nothing.
 */
static inline const char *settings_text_next(const char *area, size_t area_bytes,
					     struct settings_text text, const char *previous)
{
	if (text.count == 0 || text.size_bytes == 0 || text.offset > area_bytes ||
	    text.size_bytes > area_bytes - text.offset ||
	    area[text.offset + text.size_bytes - 1] != '\0')
		return NULL;
	const char *end = area + text.offset + text.size_bytes;
	const char *next = previous ? previous + strlen(previous) + 1 : area + text.offset;
	return next < end ? next : NULL;
}

#endif
