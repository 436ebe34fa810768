/*
 * When a file is inspected: soon after its last event, at once, later again, or not any more.
 */
#ifndef SEEN_CLI_WATCH_DUE_H
#define SEEN_CLI_WATCH_DUE_H

#include "cli/run/watch_state.h"

/* look_soon(): something happened to a file: it is to be looked at when it was left alone.  look_now(): or at once.  look_later(): a
 * look came to nothing.  look_no_more(): or to something. */
void look_soon(const struct watch *watch, struct file *file);
void look_now(struct file *file);
void look_later(struct file *file, uint64_t wait_ns);
void look_no_more(struct file *file);

#endif
