/*
 * Announced commands: what a model asked its agent's shell tool for, as the agent's hook reports it
 * before the tool runs.
 *
 * An agent starts shells for itself, too, and reads what they print.  From below both look the same.
 * A shell that the agent started while a command was announced, and whose words hold that command as
 * a whole, runs it for the model.  Its capture is noted beside the command, once: what another shell
 * runs in the same words is not announced.
 *
 * All functions are lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_ANNOUNCED_H
#define SEEN_TRACKER_ANNOUNCED_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* announced_add(): the model asked for a command.  One of more than ANNOUNCED_BYTES_MAX is left out.
 * Of more than a scope has room for the oldest goes.  Blanks at both ends count for nothing. */
enum { ANNOUNCED_BYTES_MAX = 4096 };
void announced_add(const struct segment *segment, uint64_t scope_id, const char *command);

/* announced_finish(): it has ended, or was not run.  announced_clear(): all of a scope's. */
void announced_finish(const struct segment *segment, uint64_t scope_id, const char *command);
void announced_clear(const struct segment *segment, uint64_t scope_id);

/* announced_claim(): a shell begins, whose descriptor 1 is that capture.  argv: its words, ended by
 * NULL.  Where one of them holds an announced command, between such bytes as end one in a shell, the
 * command is this capture's from then on. */
void announced_claim(const struct segment *segment, uint64_t scope_id, uint64_t capture_id,
		     char *const argv[]);

/* announced_is(): is what runs below a capture a command that the model asked for? */
bool announced_is(const struct segment *segment, uint64_t scope_id, uint64_t capture_id);

#endif
