/* Words for the numbers of records: see event_words.h. */
#include "cli/journal/event_words.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/base/error_name.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents.h"
#include "tracker/guard/guard.h"
#include "tracker/journal/journal.h"

/* open(2).  What is made of others comes first. */
static const struct event_flag OPEN_FLAGS[] = {
	{ O_TMPFILE, "O_TMPFILE", "tmpfile" },
	{ O_DIRECTORY, "O_DIRECTORY", "dir" },
	{ O_SYNC, "O_SYNC", NULL },
	{ O_DSYNC, "O_DSYNC", NULL },
	{ O_APPEND, "O_APPEND", "append" },
	{ O_CREAT, "O_CREAT", "creat" },
	{ O_EXCL, "O_EXCL", "excl" },
	{ O_TRUNC, "O_TRUNC", "trunc" },
	{ O_PATH, "O_PATH", "path" },
	{ O_NOFOLLOW, "O_NOFOLLOW", NULL },
	{ O_CLOEXEC, "O_CLOEXEC", NULL },
	{ O_NONBLOCK, "O_NONBLOCK", NULL },
	{ O_NOCTTY, "O_NOCTTY", NULL },
	{ O_NOATIME, "O_NOATIME", NULL },
	{ O_DIRECT, "O_DIRECT", NULL },
	{ O_ASYNC, "O_ASYNC", NULL },
#if O_LARGEFILE
	{ O_LARGEFILE, "O_LARGEFILE", NULL },
#endif
};

static const struct event_flag MAP_FLAGS[] = {
	{ PROT_READ, "PROT_READ", "r" },
	{ PROT_WRITE, "PROT_WRITE", "w" },
	{ PROT_EXEC, "PROT_EXEC", "x" },
	{ JOURNAL_MAP_SHARED, "MAP_SHARED", "shared" },
};

const struct event_flag *event_open_flags(size_t *ret_count)
{
	*ret_count = sizeof(OPEN_FLAGS) / sizeof(OPEN_FLAGS[0]);
	return OPEN_FLAGS;
}

const struct event_flag *event_map_flags(size_t *ret_count)
{
	*ret_count = sizeof(MAP_FLAGS) / sizeof(MAP_FLAGS[0]);
	return MAP_FLAGS;
}

const char *event_access_name(uint32_t flags, bool brief)
{
	switch (flags & O_ACCMODE) {
	case O_RDONLY:
		return brief ? "r" : "O_RDONLY";
	case O_WRONLY:
		return brief ? "w" : "O_WRONLY";
	case O_RDWR:
		return brief ? "rw" : "O_RDWR";
	default: /* neither: for ioctl(2) alone */
		return brief ? "-" : "O_ACCMODE";
	}
}

const char *event_decision_name(unsigned decision)
{
	static const char *const NAMES[] = { [DECISION_CONTENT] = "content",
					     [DECISION_GIVEN_AGAIN] = "yielded",
					     [DECISION_NOTICE] = "notice",
					     [DECISION_DIFF] = "diff" };
	return decision < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[decision] : NULL;
}

const char *event_reason_name(unsigned reason)
{
	static const char *const NAMES[] = {
		[REASON_NOT_TRACKED] = "not_tracked", [REASON_NOT_DELIVERED] = "not_delivered",
		[REASON_NOT_ALLOWED] = "not_allowed", [REASON_CHANGED] = "changed",
		[REASON_BINARY] = "binary",           [REASON_ASKED_AGAIN] = "insisted",
		[REASON_TOO_SHORT] = "too_short",     [REASON_UNREADABLE] = "unreadable",
		[REASON_REPEATED] = "repeated",
	};
	return reason < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[reason] : NULL;
}

const char *event_verdict_name(unsigned verdict)
{
	static const char *const NAMES[] = {
		[GUARD_PASS] = "pass", [GUARD_WARN] = "warned", [GUARD_DENY] = "denied"
	};
	return verdict < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[verdict] : NULL;
}

const char *event_guard_reason_name(unsigned reason)
{
	static const char *const NAMES[] = {
		[GUARD_UNCONCERNED] = "unconcerned",
		[GUARD_NEW] = "new",
		[GUARD_FRESH] = "fresh",
		[GUARD_UNFINISHED] = "unfinished",
		[GUARD_STALE] = "stale",
		[GUARD_UNREAD] = "unread",
		[GUARD_NOTICE] = "notice",
		[GUARD_UNREADABLE] = "unreadable",
	};
	return reason < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[reason] : NULL;
}

const char *event_kept_reason_name(unsigned reason)
{
	return reason < CONTENTS_REASON_COUNT ? contents_reason_name((enum contents_reason)reason)
					      : NULL;
}

/* How an instruction file was given. */
const char *event_instructed_name(uint32_t flags)
{
	switch (flags) {
	case 0:
		return "context";
	case JOURNAL_INSTRUCTED_INJECTED:
		return "inject";
	default:
		return NULL;
	}
}

/* What became of a file that an external writer changed. */
const char *event_change_name(uint32_t flags)
{
	switch (flags) {
	case 0:
		return "changed";
	case JOURNAL_CHANGED_ADDED:
		return "added";
	case JOURNAL_CHANGED_DELETED:
		return "deleted";
	default:
		return NULL;
	}
}

const char *event_metadata_kind(uint32_t kind)
{
	static const char *const NAMES[] = {
		[JOURNAL_METADATA_MODE] = "mode",
		[JOURNAL_METADATA_OWNER] = "owner",
		[JOURNAL_METADATA_TIMES] = "times",
		[JOURNAL_METADATA_ATTRIBUTE] = "attribute_set",
		[JOURNAL_METADATA_NO_ATTRIBUTE] = "attribute_removed",
	};
	return kind < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[kind] : NULL;
}

const char *event_error_name(int error, char *ret_text)
{
	const char *name = error_name(error);
	if (name)
		return name;
	(void)snprintf(ret_text, EVENT_ERROR_BYTES, "errno %d", error);
	return ret_text;
}

/* What a CREATE made; NULL: not told. */
const char *event_create_kind(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "folder";
	case S_IFREG:
		return "file";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block";
	case S_IFCHR:
		return "character";
	default:
		return NULL;
	}
}
