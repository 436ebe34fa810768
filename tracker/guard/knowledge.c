/* What a writer's agent knows of a file: see knowledge.h. */
#include "tracker/guard/knowledge.h"

#include "tracker/content/baseline.h"
#include "tracker/process/helper.h"
#include "tracker/process/scope.h"
#include "tracker/sys/sys.h"

/* One that lives longer is taken for one that stays, and not started for this write.  At a load of 20 to 30 codex's sandbox
 * took up to 243 ms. */
static const uint64_t LASTING_NS = 10000000000;

static void find_of(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    uint64_t began_ns, const struct version *before,
		    struct knowledge *ret_knowledge)
{
	*ret_knowledge = (struct knowledge){ .scope_id = scope_id };
	if (!scope_id)
		return;
	ret_knowledge->is_known = baseline_before(segment, scope_id, file_key, began_ns,
						  &ret_knowledge->baseline) ||
				  baseline_of(segment, BASELINE_SESSION, file_key,
					      &ret_knowledge->baseline);
	ret_knowledge->is_before = baseline_is(segment, scope_id, file_key, began_ns, before);
}

/* When the agent whose scope that is started the helper that writes; 0: it is none, or not known. */
static uint64_t began_ns(const struct segment *segment, const struct guard_writer *writer,
			 uint64_t scope_id)
{
	uint64_t began = helper_began_ns(segment, writer->serial, scope_id);

	return sys_boottime_ns() - began < LASTING_NS ? began : 0;
}

void knowledge_find(const struct segment *segment, const struct guard_writer *writer,
		    uint64_t file_key, const struct version *before,
		    struct knowledge *ret_knowledge)
{
	struct version baseline;
	struct scope_slot scope;
	uint64_t own = writer->scope_id;

	find_of(segment, own, file_key, 0, before, ret_knowledge);
	if (!own || !(writer->context->flags & CONTEXT_NESTED) ||
	    baseline_is_given(segment, own, file_key))
		return;
	uint64_t head = scope_head(segment, own);
	/* What one reads that was only just started, its agent has not asked for. */
	if (baseline_of(segment, own, file_key, &baseline) && !began_ns(segment, writer, head))
		return;
	for (uint64_t i = 0; head && i < segment->capacity[TABLE_SCOPES]; i++) {
		if (!slot_read(segment_slot(segment, TABLE_SCOPES, i), &scope,
			       SCOPE_CHECKED_BYTES) ||
		    scope.head_id != head || scope.id == own ||
		    !baseline_of(segment, scope.id, file_key, &baseline))
			continue;
		find_of(segment, scope.id, file_key, began_ns(segment, writer, scope.id), before,
			ret_knowledge);
		if (ret_knowledge->is_before)
			return;
	}
}
