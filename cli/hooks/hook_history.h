/*
 * What a conversation read, ran and changed before, for a model that has it no more.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_HISTORY_H
#define SEEN_CLI_HOOKS_HOOK_HISTORY_H

#include <stdio.h>

#include "cli/hooks/hook_record.h"

/* hook_history_write(): writes the youngest entries of `seen history` that are of this conversation, as
 * many as there is room for, the oldest of them first; of all the sessions on its record.
 *
 * room: bytes.  Journals are read from their ends, no farther back than the lines need; some 64 MiB in all. */
void hook_history_write(const struct hook_agent *agent, const struct hook_input *input,
			const struct hook_record *record, size_t room, FILE *out);

#endif
