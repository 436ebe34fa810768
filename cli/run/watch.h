/*
 * The watcher: finds out what writers external to the session do to the files that its agents were
 * given.
 *
 * `seen run` calls it at every turn of the loop in which it waits.  It watches the directories of
 * the files that a scope has a baseline of (inotify(7)), waits until a file was left alone for
 * [watch] quiet_ms, hashes it, and decides:
 *
 * 	what the session made of it, what a scope takes it for, what is on record      nothing
 * 	a process of the session writes to it, and has not ended                       inspected again
 * 	it wrote and ended without a word (supervised, killed)                         the session's: EDITED
 * 	anything else                                                                  an external writer's: CHANGED
 *
 * A process of the session that is about to change a file says so in its slot before it does, and
 * its result there afterwards: so what neither explains is no process's of the session, however
 * late it is inspected.
 *
 * Events tell when to look, the version alone tells what is there.  So an event may come late, or
 * be lost: then every file is inspected.  Where directories cannot be watched, their files' stamps
 * are inspected instead.
 *
 * It also keeps the index of instruction files current (instruction_index.h).
 *
 * Whatever goes wrong (no memory, a directory that is gone, a file that cannot be read), less is
 * seen, and nothing else.
 */
#ifndef SEEN_CLI_WATCH_H
#define SEEN_CLI_WATCH_H

#include <stdbool.h>

#include "cli/session/session.h"
#include "tracker/journal/journal.h"

struct watch;

/* watch_start(): begins to watch for a run.  Cheap: nothing is opened before there is a file to be
 * watched.
 *
 * session, journal: borrowed until watch_finish(); the journal is mapped to write to, or not
 * mapped.  quiet: nothing is printed; else a line where not all can be watched.
 * Returns NULL where there is no memory: the functions below accept that. */
struct watch *watch_start(const struct session *session, struct journal *journal, bool quiet);

/* watch_leave_out(): a child of this process, with all below it, that is none of the session; 0:
 * there is none any more. */
void watch_leave_out(struct watch *watch, pid_t pid);

/* watch_tick(): does what there is to do now, for some 20 ms at most.  Returns in how many
 * milliseconds it is to be called again at the latest. */
unsigned watch_tick(struct watch *watch);

/* watch_descriptor(): a descriptor to wait for beside that time: when it can be read it is time for
 * the next call.  -1: there is none now.  Another one at each call, perhaps; close-on-exec. */
int watch_descriptor(const struct watch *watch);

/* watch_finish(): the run is over: inspects what there is to be inspected still, and frees all.
 * May take a few times quiet_ms. */
void watch_finish(struct watch *watch);

#endif
