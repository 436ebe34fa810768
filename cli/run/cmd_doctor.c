/*
 * `seen doctor`: what will be observed on this machine, and of a program.  Linkage is inspected to
 * explain, not to judge: a program is started under the library, and the session is asked.
 *
 * A check is one line: ok, warn (something is less than it could be) or fail (nothing works), and
 * what to do about it.  The exit code says whether all can be observed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/run/doctor.h"
#include "cli/run/doctor_json.h"
#include "cli/run/doctor_machine.h"
#include "cli/run/doctor_program.h"
#include "cli/run/doctor_reach.h"
#include "cli/run/doctor_trial.h"

static bool json;

static const struct option_spec SPECS[] = {
	{ "--json", NULL, "a JSON document, seen/doctor/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "doctor [OPTION...] [[--] COMMAND [ARGUMENT...]]",
	.summary = "Reports what would be observed on this machine, and of COMMAND. For that, "
		   "COMMAND's program is started with --version in a temporary session, for 5 "
		   "seconds at most. Launchers are followed to it: timeout, env, npx, a shell's "
		   "script, a version manager's shim. Of another script that is no known agent, "
		   "only the interpreter is started. Exit code 5: something cannot be observed in "
		   "full.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

static void print_people(const struct doctor *doctor)
{
	static const char *const COLORS[] = { "32", "33", "31" };

	for (int i = 0; i < doctor->count; i++) {
		const struct check *check = &doctor->checks[i];
		(void)printf("%s%-4s%s  %s: %s\n", text_style(stdout, COLORS[check->level]),
			     doctor_level_name(check->level), text_style(stdout, "0"), check->what,
			     check->detail);
		if (check->remedy)
			(void)printf("      remedy: %s\n", check->remedy);
	}
}

static int examine(struct doctor *doctor, struct config_request *request)
{
	int error = 0;

	doctor_check_machine(doctor);
	doctor_check_library(doctor, request);
	if (doctor->command)
		doctor_check_program(doctor);
	else
		doctor_check_hooks(doctor);
	doctor_check_rules(doctor);
	if (json)
		error = doctor_print_json(doctor);
	else
		print_people(doctor);
	probe_close(&doctor->probe);
	launch_free(&doctor->program.launch);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return doctor->unseen ? EXIT_CODE_UNOBSERVED : EXIT_CODE_OK;
}

/* The words in front of COMMAND that any command takes: those of the configuration. */
static void note_flags(struct doctor *doctor, int count, char **argv)
{
	doctor->flags = argv + 1;
	for (int i = 1; i < count; i++)
		if (strcmp(argv[i], "--json") != 0 && strcmp(argv[i], "--") != 0)
			doctor->flags[doctor->flag_count++] = argv[i];
}

int cmd_doctor(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct doctor *doctor = calloc(1, sizeof(*doctor));
	int code = EXIT_CODE_OUTPUT;

	if (!doctor) {
		message("out of memory");
	} else if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
		   options_load(&parsed, &code) == 0) {
		doctor->config = parsed.config;
		if (parsed.first_word < argc)
			doctor->command = argv + parsed.first_word;
		note_flags(doctor, parsed.first_word, argv);
		code = examine(doctor, &parsed.request);
	}
	options_done(&parsed);
	free(doctor);
	return code;
}
