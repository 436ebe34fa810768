/*
 * When a file is inspected: soon after its last event, at once, later again, or not any more.
 */
#ifndef SEEN_CLI_WATCH_DUE_H
#define SEEN_CLI_WATCH_DUE_H

#include "cli/run/watch_state.h"

/* due_soon(): something happened to a file: it is to be inspected when it was left alone.
 * due_now(): or at once.  due_later(): a check came to nothing.  due_never(): or to something. */
void due_soon(const struct watch *watch, struct file *file);
void due_now(struct file *file);
void due_later(struct file *file, uint64_t wait_ns);
void due_never(struct file *file);

#endif
