/* The JSON document: see doctor_json.h. */
#include "cli/run/doctor_json.h"

#include <string.h>

#include "cli/base/text.h"
#include "cli/run/doctor_program.h"
#include "cli/session/coverage_json.h"

static json_t *json_program(const struct doctor *doctor)
{
	const struct program *program = &doctor->program;

	if (!program->found)
		return json_null();
	json_t *object = json_object(), *scripts = json_array(), *launchers = json_array();
	const struct executable *last = doctor_last(program);
	for (int i = 0; i < program->count - 1; i++)
		(void)json_array_append_new(scripts, text_json(program->chain[i].path));
	for (int i = 0; i < program->launch.name_count; i++)
		(void)json_array_append_new(launchers, text_json(program->launch.names[i]));
	(void)json_object_set_new(object, "name", text_json(doctor->words[0]));
	(void)json_object_set_new(object, "launchers", launchers);
	(void)json_object_set_new(object, "scripts", scripts);
	(void)json_object_set_new(object, "executable", text_json(last->path));
	(void)json_object_set_new(object, "kind", json_string(doctor_kind_name(last->kind)));
	(void)json_object_set_new(object, "libc", json_string(doctor_libc_name(last->libc)));
	(void)json_object_set_new(object, "machine",
				  last->bits ? text_json(last->machine) : json_null());
	(void)json_object_set_new(object, "bits",
				  last->bits ? json_integer(last->bits) : json_null());
	(void)json_object_set_new(object, "run_time",
				  last->runtime ? json_string(doctor_runtime_name(last->runtime))
						: json_null());
	(void)json_object_set_new(object, "setuid", json_boolean(last->setuid));
	(void)json_object_set_new(object, "setgid", json_boolean(last->setgid));
	(void)json_object_set_new(object, "capabilities", json_boolean(last->capabilities));
	(void)json_object_set_new(object, "role",
				  doctor->probe_is_open
					  ? json_string(role_name(program->invocation.role))
					  : json_null());
	(void)json_object_set_new(object, "profile",
				  program->profile[0] ? text_json(program->profile) : json_null());
	(void)json_object_set_new(object, "tested",
				  program->tested[0] ? text_json(program->tested) : json_null());
	(void)json_object_set_new(object, "via", json_string(via_name(program->via.ways)));
	(void)json_object_set_new(
		object, "via_at_exec",
		json_boolean(program->via.at_exec && program->via.ways == SESSION_VIA_PRELOAD));
	(void)json_object_set_new(object, "via_reason", text_json(program->via.reason));
	(void)json_object_set_new(object, "via_note",
				  program->via.note ? json_string(program->via.note) : json_null());
	(void)json_object_set_new(object, "attached",
				  program->probed ? json_boolean(program->result.attached)
						  : json_null());
	(void)json_object_set_new(object, "coverage",
				  program->probed && program->tried
					  ? coverage_json(&program->result.coverage)
					  : json_null());
	return object;
}

static json_t *json_supervisor(const struct supervisor *supervisor)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "possible", json_boolean(supervisor->error == 0));
	(void)json_object_set_new(object, "error",
				  supervisor->error ? json_string(strerror(-supervisor->error))
						    : json_null());
	(void)json_object_set_new(object, "wait_killable_recv",
				  json_boolean(supervisor->waits_killable));
	(void)json_object_set_new(object, "sync_wake_up", json_boolean(supervisor->wakes_in_step));
	(void)json_object_set_new(object, "drops_privileges",
				  json_boolean(supervisor->drops_privileges));
	return object;
}

int doctor_print_json(const struct doctor *doctor)
{
	json_t *document = json_object(), *checks = json_array();

	for (int i = 0; i < doctor->count; i++) {
		const struct check *check = &doctor->checks[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "what", json_string(check->what));
		(void)json_object_set_new(object, "level",
					  json_string(doctor_level_name(check->level)));
		(void)json_object_set_new(object, "detail", json_string(check->detail));
		(void)json_object_set_new(object, "remedy",
					  check->remedy ? json_string(check->remedy) : json_null());
		(void)json_array_append_new(checks, object);
	}
	(void)json_object_set_new(document, "schema", json_string("seen/doctor/1"));
	(void)json_object_set_new(document, "observable", json_boolean(!doctor->unseen));
	(void)json_object_set_new(document, "checks", checks);
	(void)json_object_set_new(document, "supervisor", json_supervisor(&doctor->supervisor));
	(void)json_object_set_new(document, "program",
				  doctor->command ? json_program(doctor) : json_null());
	return text_json_print(document);
}
