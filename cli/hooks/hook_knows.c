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
