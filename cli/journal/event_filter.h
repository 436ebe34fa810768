/*
 * Which events are wanted.
 */
#ifndef SEEN_CLI_EVENT_FILTER_H
#define SEEN_CLI_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/journal/events.h"

/* All conditions must hold.  All zero but `role`: every event. */
struct event_filter {
	uint64_t ops;          /* a bit for each op; 0: all */
	const char *path;      /* glob, NULL: any */
	const char *workspace; /* that a relative glob is held against, absolute; NULL: not known */
	bool fold;             /* ASCII case does not matter in paths */
	uint32_t pid;          /* 0: any */
	const char *executable;     /* glob for its base name, NULL: any */
	int role;                   /* -1: any */
	enum source source;         /* SOURCE_NONE: any */
	uint64_t since_realtime_ns; /* 0: any; both ends included */
	uint64_t until_realtime_ns; /* 0: any */
	bool denied, failed;
};

/* event_filter_ops(): "open,rm" as bits: names of events, and the words that ops.def has for them.
 *
 * ret_unknown: on -EINVAL the first word that is none, at most capacity - 1 bytes of it.  Returns 0
 * or -EINVAL. */
int event_filter_ops(const char *words, uint64_t *ret_ops, char *ret_unknown, size_t capacity);

/* event_filter_role(): "tool" ... as enum role.  Returns 0 or -EINVAL. */
int event_filter_role(const char *word, int *ret_role);

/* event_filter_source(): "agent_edited" ... as enum source.  Returns 0 or -EINVAL. */
int event_filter_source(const char *word, enum source *ret_source);

/* event_filter_time(): a point in time.
 *
 * text: RFC 3339; or "YYYY-MM-DD HH:MM[:SS]", in the time zone that times are shown in (clock.h); or "HH:MM[:SS]",
 * the last time that it was so late; or how long before now: a number and s, m, h or d.  Returns 0 or
 * -EINVAL; a time before 1970 or after 2554 is none. */
int event_filter_time(const char *text, uint64_t now_realtime_ns, uint64_t *ret_realtime_ns);

/* event_filter_match(): is it wanted?
 *
 * A path matches if one that the event names does: the one that is resolved, below the workspace
 * as [paths] globs are; with a leading slash, from the root of the file system.  A path that is
 * not resolved matches a relative glob if what is known of it, its end, does. */
bool event_filter_match(const struct event_filter *filter, const struct event *event);

/* event_is_denied(): the process may not do that: EACCES, EPERM, EROFS; or a write that the guard
 * refused. */
bool event_is_denied(const struct event *event);

/* event_path_below(): what follows the workspace's root; NULL when the path is not below it. */
const char *event_path_below(const char *workspace, const char *path, bool fold);

/* event_path_in_new_root(): is it below the name at which bubblewrap builds a sandbox's root?  There is no file of
 * this machine's then. */
bool event_path_in_new_root(const char *path);

/* event_path_shown(): a path as people know it: what follows the workspace's root where it lies
 * below, "." for that itself; else as it is. workspace: NULL: not known. */
const char *event_path_shown(const char *workspace, const char *path);

#endif
