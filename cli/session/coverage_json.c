/* Coverage, as JSON: see coverage_json.h. */
#include "cli/session/coverage_json.h"

#include "cli/base/text.h"

static json_t *json_count(uint64_t count)
{
	return json_integer((json_int_t)count);
}

static json_t *json_programs(const struct coverage *coverage, bool partly)
{
	json_t *array = json_array();

	for (int i = 0; i < coverage->program_count; i++) {
		const struct coverage_program *program = &coverage->programs[i];
		if (program->partly != partly)
			continue;
		json_t *object = json_object();
		(void)json_object_set_new(object, "name", text_json(program->name));
		(void)json_object_set_new(object, "reason", json_string(program->reason));
		(void)json_object_set_new(object, "not_supervised",
					  program->plainly ? json_string(program->plainly)
							   : json_null());
		(void)json_object_set_new(object, "count", json_count(program->count));
		(void)json_array_append_new(array, object);
	}
	return array;
}

json_t *coverage_json(const struct coverage *coverage)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "observed", json_count(coverage->observed));
	(void)json_object_set_new(object, "unobserved", json_count(coverage->unobserved));
	(void)json_object_set_new(object, "unobserved_programs", json_programs(coverage, false));
	(void)json_object_set_new(object, "partial", json_count(coverage->partial));
	(void)json_object_set_new(object, "partial_programs", json_programs(coverage, true));
	(void)json_object_set_new(object, "unattached", json_count(coverage->unattached));
	(void)json_object_set_new(object, "supervised", json_count(coverage->supervised));
	(void)json_object_set_new(object, "calls_unjudged", json_count(coverage->calls_unjudged));
	return object;
}
