/*
 * Which files the watcher follows, and what the kernel reports of them: inotify(7), or their
 * stamps.
 */
#ifndef SEEN_CLI_WATCH_DIRECTORIES_H
#define SEEN_CLI_WATCH_DIRECTORIES_H

#include "cli/run/watch_state.h"

/* folders_scan(): finds the files that are new in the session's table, some of it at a time; whole:
 * all of it, now. */
void directories_scan(struct watch *watch, bool whole);

/* folders_events(): takes what the kernel tells, and looks for it where it tells nothing. */
void directories_events(struct watch *watch);

/* file_forget(): takes one out and frees it.  names_has(): is a name there, as far as that is
 * known?  names_note(): it is, or not. */
void file_forget(struct watch *watch, size_t index);
bool names_has(const struct watch *watch, uint64_t key);
void names_note(struct watch *watch, uint64_t key, bool is_there);

/* folders_free(): all that the trees and arrays hold. */
void directories_free(struct watch *watch);

#endif
