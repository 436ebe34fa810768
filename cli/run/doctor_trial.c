/* Trials: see doctor_trial.h. */
#include "cli/run/doctor_trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/answer/tracker.h"
#include "tracker/path/path.h"

/* More than [notice] min_bytes of the trial, less than any agent is taken to pass on whole. */
enum { PROBE_FILE_BYTES = 1024 };

/* A file with text, in the trial's workspace; its path. */
static int make_probe_file(const struct probe *probe, char *ret_path, size_t capacity)
{
	if (snprintf(ret_path, capacity, "%s/probe.txt", probe->work) >= (int)capacity)
		return -ENAMETOOLONG;
	FILE *file = fopen(ret_path, "we");
	if (!file)
		return -errno;
	for (int written = 0; written < PROBE_FILE_BYTES;)
		written += fprintf(file, "a line of a file that is read twice\n");
	return fclose(file) == 0 ? 0 : -errno;
}

/* Two reads by `cat`: the first is recorded, the second answered. */
static void check_cat(struct doctor *doctor)
{
	char path[PATH_MAX], cat[PATH_MAX];
	char *words[] = { cat, path, NULL };
	struct probe_result result = { .started = false };
	struct file_slot file = { .full_reads = 0 };

	int error = make_probe_file(&doctor->probe, path, sizeof(path));
	if (error == 0)
		error = executable_find("cat", cat, sizeof(cat));
	for (int i = 0; i < 2 && error == 0; i++)
		error = probe_run(&doctor->probe, words, "preload", PROBE_CAPTURE,
				  DOCTOR_PROGRAM_TIMEOUT_MS, &result);
	if (error == 0)
		(void)tracker_file(&doctor->probe.session.segment, path, &file);
	if (error < 0)
		doctor_add(doctor, LEVEL_FAIL, "probe", "install cat and make room in TMPDIR",
			   "cat cannot be tried: %s", strerror(-error));
	else if (!result.attached)
		doctor_add(doctor, LEVEL_FAIL, "probe",
			   "build seen on this machine, for its libc; let cat be a dynamic program",
			   "the library does not start inside %s%s%s", cat,
			   result.complaint[0] ? ": " : "", result.complaint);
	else if (file.full_reads != 1 || file.notices != 1)
		doctor_add(doctor, LEVEL_FAIL, "probe", "report this, with `seen doctor --json`",
			   "%s read a file twice; %u full reads and %u notices are on record, not "
			   "1 and "
			   "1%s",
			   cat, file.full_reads, file.notices,
			   result.timed_out ? " (it did not end in time)" : "");
	else
		doctor_add(doctor, LEVEL_OK, "probe", NULL,
			   "%s read a file twice: once in full, then a notice", cat);
}

void doctor_check_library(struct doctor *doctor, struct config_request *request)
{
	struct config_error why;

	int error = probe_open(request, doctor->flags, doctor->flag_count, &doctor->probe, &why);
	if (doctor->probe.library[0] == '\0') {
		doctor_add(doctor, LEVEL_FAIL, "library",
			   error == -ENODEV
				   ? "mount procfs on /proc"
				   : "install bin/seen and lib/seen/libseen.so under one prefix",
			   "%s", why.text);
		return;
	}
	if (strpbrk(doctor->probe.library, " :")) {
		doctor_add(doctor, LEVEL_FAIL, "library", "install seen under a path without them",
			   "%s cannot be preloaded: its path holds a space or a colon",
			   doctor->probe.library);
		return;
	}
	doctor_add(doctor, LEVEL_OK, "library", NULL, "%s", doctor->probe.library);
	if (error < 0) {
		doctor_add(doctor, LEVEL_FAIL, "probe",
			   "set TMPDIR to a directory of your own with room for 2 MiB", "%s",
			   why.text);
		return;
	}
	doctor->probe_is_open = true;
	check_cat(doctor);
}

/* What to start for a trial: the launchers that can be kept, the program, --version.  A script that
 * is no known agent may do anything with that: only its interpreter is started.  Returns a list to
 * be freed; its words are borrowed.  NULL: out of memory. */
static char **trial_words(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	const struct executable *last = doctor_last(program);
	bool is_agent = program->invocation.role == ROLE_AGENT;
	size_t kept = program->launch.kept, at = 0;

	program->tried = program->count == 1 || is_agent;
	/* The trial is made in another directory. */
	if (!program->tried || (strchr(doctor->command[0], '/') && doctor->command[0][0] != '/'))
		kept = 0;
	const char **words = calloc(kept + 5, sizeof(*words));
	if (!words)
		return NULL;
	for (; at < kept; at++)
		words[at] = doctor->command[at];
	if (!kept && program->launch.name_count && program->tried)
		words[at++] = "env"; /* it is no command of `seen run`, and starts as no such */
	words[at++] = program->tried ? program->chain[0].found : last->path;
	/* node SCRIPT: the agent is the script */
	if (is_agent && program->count == 1 && doctor->words[1] && doctor->words[1][0] == '/')
		words[at++] = doctor->words[1];
	words[at++] = "--version";
	return (char **)(uintptr_t)words;
}

/* What of the programs that were started was not observed in full, but for the one in question.
 * ret_text: DETAIL_BYTES / 8. */
static void list_unobserved(const struct program *program, char *ret_text)
{
	const struct coverage *coverage = &program->result.coverage;
	char text[COVERAGE_TEXT_BYTES];
	size_t used = 0;

	ret_text[0] = '\0';
	for (int i = 0; i < coverage->program_count && used < DETAIL_BYTES / 8; i++) {
		if (strcmp(coverage->programs[i].name, program->invocation.name) == 0)
			continue;
		used += (size_t)snprintf(ret_text + used, DETAIL_BYTES / 8 - used, "%s%s",
					 used ? "; " : "",
					 coverage_text(&coverage->programs[i], text));
	}
}

static void report_start(struct doctor *doctor, const char *shown)
{
	const struct program *program = &doctor->program;
	const struct probe_result *result = &program->result;
	const char *late = result->timed_out ? " (it did not end within 5 seconds and was killed)"
					     : "";

	if (result->attached && result->obstacle)
		doctor_add(doctor, LEVEL_OK, "start", NULL,
			   "%s --version ran; the supervisor observed what the library is not in: "
			   "%s%s",
			   shown, result->supervised, late);
	else if (result->attached)
		doctor_add(doctor, LEVEL_OK, "start", NULL, "%s --version ran %s%s", shown,
			   program->via.ways == SESSION_VIA_SUPERVISE ? "below the supervisor"
								      : "with the library inside",
			   late);
	else if (doctor_last(program)->kind == EXECUTABLE_STATIC)
		doctor_add(doctor, LEVEL_OK, "start", NULL,
			   "%s --version ran, without the library, as said above%s", shown, late);
	else
		doctor_add(doctor, LEVEL_FAIL, "start",
			   "use a dynamic build for this machine's libc",
			   "%s --version ran without the library%s%s%s", shown,
			   result->complaint[0] ? ": " : "", result->complaint, late);
}

static void report_starts(struct doctor *doctor)
{
	const struct program *program = &doctor->program;
	const struct probe_result *result = &program->result;
	char unobserved[DETAIL_BYTES / 8];

	if (result->supervised[0] && !result->obstacle)
		doctor_add(
			doctor, LEVEL_OK, "starts", NULL,
			"it started what the library is not in: %s; the supervisor observed that",
			result->supervised);
	list_unobserved(program, unobserved);
	if (unobserved[0])
		doctor_add(doctor, LEVEL_WARN, "starts",
			   "none needed for commands; ask `seen doctor` about that program",
			   "it started what could not be observed in full: %s; commands that this "
			   "starts through a shell are",
			   unobserved);
	if (!program->tried)
		doctor_add(doctor, LEVEL_OK, "starts", NULL,
			   "the script itself was not run: what it starts shows in `seen run "
			   "--summary`");
}

/* The mechanism that a run of COMMAND takes. */
static const char *trial_via(const struct program *program)
{
	return via_name(program->via.at_exec ? SESSION_VIA_AUTO : program->via.ways);
}

void doctor_check_start(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	struct probe_result *result = &program->result;
	char **words = trial_words(doctor);
	int error = words ? probe_run(&doctor->probe, words, trial_via(program), PROBE_DISCARD,
				      DOCTOR_PROGRAM_TIMEOUT_MS, result)
			  : -ENOMEM;

	if (error == 0 && !result->started)
		error = result->error;
	free(words);
	const char *path = program->tried ? program->chain[0].found : doctor_last(program)->path;
	if (error < 0) {
		doctor_add(doctor, LEVEL_FAIL, "start", "see whether it runs without seen",
			   "%s cannot be started: %s", path, strerror(-error));
		return;
	}
	program->probed = true;
	if (program->tried) /* what a run finds, whatever its file says */
		program->unseen = result->coverage.unobserved || result->coverage.partial;
	report_start(doctor, path_base(path));
	report_starts(doctor);
}
