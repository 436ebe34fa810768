/* Outputs: see outputs.h. */
#include "cli/session/outputs.h"

#include <stdlib.h>

#include "tracker/answer/proof.h"

struct walk {
	const struct segment *segment;
	struct outputs outputs;
	uint64_t *commands; /* that were counted */
	size_t count, capacity;
};

static bool is_counted(const struct walk *walk, uint64_t command)
{
	for (size_t i = walk->count; i-- > 0;)
		if (walk->commands[i] == command)
			return true;
	return false;
}

static int count(const struct proof_delivery *delivery, void *data)
{
	struct walk *walk = data;

	if (!(proof_scope_flags(walk->segment, delivery->scope_id) & SCOPE_PROVES))
		return 0;
	walk->outputs.is_read = true;
	if (is_counted(walk, delivery->command_id))
		return 0;
	if (walk->count == walk->capacity) {
		size_t larger = walk->capacity ? 2 * walk->capacity : 64;
		uint64_t *grown = realloc(walk->commands, larger * sizeof(*grown));
		if (!grown)
			return -1;
		walk->commands = grown;
		walk->capacity = larger;
	}
	walk->commands[walk->count++] = delivery->command_id;
	switch (delivery->proof) {
	case PROOF_NONE:
		walk->outputs.unproven++;
		break;
	case PROOF_WHOLE:
	case PROOF_REPORTED:
		walk->outputs.proven++;
		break;
	case PROOF_CONTRADICTED:
		walk->outputs.contradicted++;
		break;
	case PROOF_OFF_BRANCH:
		walk->outputs.off_branch++;
		break;
	}
	return 0;
}

void outputs_count(const struct segment *segment, uint64_t scope_id, struct outputs *ret_outputs)
{
	struct walk walk = { .segment = segment };

	walk.outputs.is_read = scope_id && proof_scope_flags(segment, scope_id) & SCOPE_PROVES;
	(void)proof_each_delivery(segment, scope_id, count, &walk);
	free(walk.commands);
	*ret_outputs = walk.outputs;
}
