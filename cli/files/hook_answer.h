/*
 * What a hook answers: after the agent's own read tool what the model is given in place of the file,
 * before its edit or write tool whether that may be.
 */
#ifndef SEEN_CLI_HOOK_ANSWER_H
#define SEEN_CLI_HOOK_ANSWER_H

#include "cli/files/hook_input.h"
#include "tracker/journal/journal.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment.h"

/* Whose hook it is. */
struct hook_agent {
	const struct segment *segment;
	struct journal *journal; /* may be unmapped */
	const struct context *context;
	uint64_t scope_id; /* of its commands */
};

/* hook_answer_read(): a file was read by the agent's own tool.
 *
 * Records what the model is given.  Returns a document in the tool's own form to be given instead,
 * a new reference; NULL: what the tool gave. */
json_t *hook_answer_read(const struct hook_agent *agent, const struct hook_input *input);

/* hook_answer_write(): a file is about to be edited, or overwritten.
 *
 * Returns why it is refused, which the caller frees; NULL: it is not. */
char *hook_answer_write(const struct hook_agent *agent, const struct hook_input *input);

#endif
