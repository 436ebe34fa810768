/* Whose knowledge of files it is: see hook_knows.h. */
#include "cli/hooks/hook_knows.h"

#include "tracker/content/baseline.h"
#include "tracker/process/scope.h"

/* Where the agent does not tell its hook whose tool call it is, it may be a sub-agent's while one works. */
static bool is_sub_agent(const struct hook_agent *agent, const struct hook_input *input)
{
	return input->is_sub_agent || (input->adapter->hides_sub_agents &&
				       scope_sub_agents(agent->segment, agent->scope_id));
}

uint64_t hook_knows_scope(const struct hook_agent *agent, const struct hook_input *input)
{
	if (!is_sub_agent(agent, input))
		return agent->scope_id;
	return scope_id_of(agent->scope_id,
			   input->is_sub_agent ? input->conversation : "sub-agents");
}

bool hook_knows_alone(const struct hook_agent *agent, const struct hook_input *input,
		      uint64_t file_key, const struct version *version)
{
	uint64_t scope_id = hook_knows_scope(agent, input);
	struct version known;

	return scope_id != agent->scope_id &&
	       baseline_of(agent->segment, scope_id, file_key, &known) &&
	       version_equal(&known, version);
}

/* What the agent's scope knew before a version was lent to it stands under a scope of this name; where it
 * knew nothing, the lent version does. */
static uint64_t lender(const struct hook_agent *agent)
{
	return scope_id_of(agent->scope_id, "lent to a sub-agent");
}

/* What a prompt left lent stands under this one, too, since that prompt. */
static uint64_t prompted(const struct hook_agent *agent)
{
	return scope_id_of(agent->scope_id, "lent before a prompt");
}

void hook_knows_lend(const struct hook_agent *agent, uint64_t file_key,
		     const struct version *version)
{
	struct version before;

	if (!baseline_of(agent->segment, agent->scope_id, file_key, &before))
		before = *version;
	/* In this order: hook_knows_take_back() compares the times. */
	baseline_given(agent->segment, agent->scope_id, file_key, version);
	baseline_given(agent->segment, lender(agent), file_key, &before);
	(void)scope_set_flags(agent->segment, agent->scope_id, SCOPE_LENDS, SCOPE_LENDS);
}

bool hook_knows_take_back(const struct hook_agent *agent, uint64_t file_key)
{
	const struct segment *segment = agent->segment;
	uint64_t lent_ns = 0, since_ns = 0;
	struct version before, now;

	if (!baseline_of(segment, lender(agent), file_key, &before) ||
	    !baseline_since(segment, lender(agent), file_key, &before, &lent_ns))
		return false;
	bool is_lent = baseline_of(segment, agent->scope_id, file_key, &now) &&
		       baseline_since(segment, agent->scope_id, file_key, &now, &since_ns) &&
		       since_ns <= lent_ns;
	baseline_forget(segment, lender(agent), file_key);
	baseline_forget(segment, prompted(agent), file_key);
	if (is_lent && version_equal(&before, &now))
		baseline_forget(segment, agent->scope_id, file_key);
	else if (is_lent)
		baseline_given(segment, agent->scope_id, file_key, &before);
	return true;
}

struct returning {
	const struct hook_agent *agent;
	bool may_wait; /* what was lent since the last prompt stays: for its user, or it is about to be written */
	bool is_prompt; /* what stays is marked as older than one */
	bool stays;     /* is there any such? */
};

static int return_lent(uint64_t scope_id, uint64_t file_key, const struct version *version,
		       void *data)
{
	struct returning *returning = data;
	const struct hook_agent *agent = returning->agent;
	const struct segment *segment = agent->segment;
	struct version before;
	uint64_t lent_ns = 0, prompt_ns = 0;

	(void)version;
	if (scope_id != lender(agent))
		return 0;
	(void)baseline_since(segment, scope_id, file_key, &before, &lent_ns);
	if (baseline_of(segment, prompted(agent), file_key, &before))
		(void)baseline_since(segment, prompted(agent), file_key, &before, &prompt_ns);
	bool stays = returning->may_wait && prompt_ns < lent_ns;
	if (!stays)
		(void)hook_knows_take_back(agent, file_key);
	else if (returning->is_prompt)
		baseline_given(segment, prompted(agent), file_key, version);
	returning->stays = returning->stays || stays;
	return 0;
}

void hook_knows_take_back_all(const struct hook_agent *agent, const struct hook_input *input)
{
	/* One may wait for its user, or be about to write.  A prompt ends the first: who writes one has answered.  The call
	 * behind it ends the second: the model was asked in between. */
	struct returning returning = { .agent = agent,
				       .may_wait = scope_sub_agents(agent->segment,
								    agent->scope_id),
				       .is_prompt = input->moment == HOOK_PROMPT };

	if (is_sub_agent(agent, input) ||
	    !(scope_flags(agent->segment, agent->scope_id) & SCOPE_LENDS))
		return;
	(void)scope_set_flags(agent->segment, agent->scope_id, SCOPE_LENDS, 0);
	(void)baseline_each(agent->segment, return_lent, &returning);
	if (returning.stays)
		(void)scope_set_flags(agent->segment, agent->scope_id, SCOPE_LENDS, SCOPE_LENDS);
}
