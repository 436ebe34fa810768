/* What a writer's agent knows of a file: see knowledge.h. */
#include "tracker/guard/knowledge.h"

#include "tracker/content/baseline.h"
#include "tracker/process/helper.h"
#include "tracker/process/scope.h"

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

/* What a writer was refused, or warned of, stands under a scope of this name, since then. */
static uint64_t scope_of_refusals(uint64_t scope_id)
{
	return scope_id_of(scope_id, "refused by what its agent knew");
}

static bool find_since(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		       uint64_t *ret_since_ns)
{
	struct version version;

	return baseline_of(segment, scope_id, file_key, &version) &&
	       baseline_since(segment, scope_id, file_key, &version, ret_since_ns);
}

/* What a program reads that its agent started to write, no model has asked for.  But one that was refused, and goes on to read,
 * stays: it has a conversation of its own. */
static bool has_own_knowledge(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	uint64_t read_ns, refused_ns;

	return baseline_is_given(segment, scope_id, file_key) ||
	       (find_since(segment, scope_id, file_key, &read_ns) &&
		find_since(segment, scope_of_refusals(scope_id), file_key, &refused_ns) &&
		refused_ns < read_ns);
}

/* Did another helper come to know the file when the writer was there already?  That tells nothing of why it was started. */
static bool is_younger(const struct segment *segment, const struct guard_writer *writer,
		       uint64_t scope_id, uint64_t file_key)
{
	uint64_t began_ns = helper_scope_began_ns(segment, writer->serial, writer->scope_id);
	uint64_t since_ns;

	return !find_since(segment, scope_id, file_key, &since_ns) || since_ns >= began_ns;
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
	    has_own_knowledge(segment, own, file_key))
		return;
	uint64_t head = scope_head(segment, own);
	bool has_read = baseline_of(segment, own, file_key, &baseline);
	for (uint64_t i = 0; head && i < segment->capacity[TABLE_SCOPES]; i++) {
		if (!slot_read(segment_slot(segment, TABLE_SCOPES, i), &scope,
			       SCOPE_CHECKED_BYTES) ||
		    scope.head_id != head || scope.id == own ||
		    !baseline_of(segment, scope.id, file_key, &baseline))
			continue;
		uint64_t began_ns = helper_began_ns(segment, writer->serial, scope.id);
		if (has_read && !began_ns && is_younger(segment, writer, scope.id, file_key))
			continue;
		find_of(segment, scope.id, file_key, began_ns, before, ret_knowledge);
		if (ret_knowledge->is_before)
			return;
	}
}

void knowledge_note_refusal(const struct segment *segment, const struct guard_writer *writer,
			    uint64_t file_key, const struct version *before)
{
	struct knowledge knowledge;

	knowledge_find(segment, writer, file_key, before, &knowledge);
	if (knowledge.scope_id == writer->scope_id || !knowledge.is_known)
		return;
	baseline_given(segment, scope_of_refusals(writer->scope_id), file_key, &knowledge.baseline);
	baseline_forget(segment, writer->scope_id, file_key);
}
