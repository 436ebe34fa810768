/* Outputs of an agent's shell tool: see hook_shell.h. */
#include "cli/hooks/hook_shell.h"

#include "cli/agents/proofs.h"
#include "cli/hooks/hook_record.h"
#include "tracker/answer/proof.h"

struct proven {
	const struct hook_agent *agent;
	const struct hook_input *input;
	uint64_t command;
};

static int note_proven(const struct proof_delivery *delivery, void *data)
{
	const struct proven *proven = data;

	if (delivery->command_id == proven->command && delivery->path &&
	    (delivery->kind == PROOF_OF_FILE || delivery->kind == PROOF_OF_LINES))
		hook_record_given(proven->agent, proven->input, delivery->path, &delivery->version,
				  delivery->kind == PROOF_OF_FILE);
	return 0;
}

/* The model has what that command gave. */
static void prove(const struct hook_agent *agent, const struct hook_input *input, uint64_t command)
{
	struct proven proven = { agent, input, command };

	if (proof_command(agent->segment, command, PROOF_REPORTED) == 0)
		(void)proof_each_delivery(agent->segment, agent->scope_id, note_proven, &proven);
}

bool hook_has_output(const struct hook_input *input)
{
	return input->known_tool && input->known_tool->kind == HOOK_TOOL_SHELL &&
	       input->adapter->output;
}

void hook_judge_output(const struct hook_agent *agent, const struct hook_input *input)
{
	const struct hook_adapter *adapter = input->adapter;
	uint64_t command, scope_id;
	bool is_cut = true;

	if (!hook_has_output(input))
		return;
	const json_t *output = adapter->output(input, &is_cut);
	size_t length = json_string_length(output);
	const struct entry_result result = { .text = json_string_value(output),
					     .length = length,
					     .body_length = length };
	if (!length || adapter->may_differ(input, agent->context->anchor_pid))
		return;
	struct proofs *proofs = proofs_collect_scope(agent->segment, agent->scope_id);
	if (!proofs)
		return;
	if (!is_cut && proofs_find(proofs, &result, agent->scope_id, &command, &scope_id))
		prove(agent, input, command);
	else
		proofs_contradict(proofs, &result, agent->scope_id, is_cut);
	proofs_free(proofs);
}
