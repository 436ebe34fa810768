/* The run that this one is started in: see above.h. */
#include "cli/run/above.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/session/session.h"
#include "config/pack.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/sys/sys.h"

enum { ANCESTORS_MAX = 64 };

/* Is this process below one that the session's supervisor observes? */
static bool is_supervised(const struct segment *segment)
{
	pid_t chain[ANCESTORS_MAX];
	int count = 0;
	struct process_slot process;
	uint64_t pid_ns = process_pid_ns();

	for (pid_t pid = getpid(); count < ANCESTORS_MAX && pid > 0;
	     pid = (pid_t)process_parent_of((uint32_t)pid))
		chain[count++] = pid;
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		if (!process_read(segment, i, &process) || !process.pid ||
		    !(process.context.flags & CONTEXT_SUPERVISED) ||
		    (process.context.process_ns && process.context.process_ns != pid_ns))
			continue;
		for (int level = 0; level < count; level++)
			if ((uint32_t)chain[level] == process.pid && !process_is_gone(&process))
				return true;
	}
	return false;
}

/* The settings of this run, as those of a session. */
struct packed {
	struct settings settings;
	char text[SETTINGS_TEXT_BYTES_MAX];
};

static bool is_same_text(const struct segment *segment, struct settings_text there,
			 const struct packed *packed, struct settings_text here)
{
	const char *one = NULL, *other = NULL;

	do {
		one = segment_text(segment, there, one);
		other = settings_text_next(packed->text, sizeof(packed->text), here, other);
		if (!one || !other)
			return one == other;
	} while (strcmp(one, other) == 0);
	return false;
}

static bool is_same_rule(const struct segment *segment, const struct settings_rule *there,
			 const struct packed *packed, const struct settings_rule *here)
{
	return there->action == here->action && there->ops == here->ops &&
	       there->where == here->where &&
	       is_same_text(segment, there->path, packed, here->path) &&
	       is_same_text(segment, there->except, packed, here->except) &&
	       is_same_text(segment, there->exe, packed, here->exe) &&
	       is_same_text(segment, there->except_exe, packed, here->except_exe);
}

static bool has_rule(const struct segment *segment, const struct packed *packed,
		     const struct settings_rule *here)
{
	const struct settings *settings = segment->settings;

	for (uint64_t i = 0; i < settings->rule_count && i < SETTINGS_RULES_MAX; i++)
		if (is_same_rule(segment, &settings->rules[i], packed, here))
			return true;
	return false;
}

static bool has_rules(const struct segment *segment, const struct packed *packed)
{
	const struct settings *settings = &packed->settings;

	if (!is_same_text(segment, segment->settings->paths_workspace, packed,
			  settings->paths_workspace))
		return false;
	for (uint64_t i = 0; i < settings->rule_count && i < SETTINGS_RULES_MAX; i++)
		if (settings->rules[i].action == RULE_ACTION_DENY &&
		    !has_rule(segment, packed, &settings->rules[i]))
			return false;
	return true;
}

bool above_denies(const struct config *config)
{
	const char *directory = getenv("SEEN_SESSION");
	struct packed *packed = calloc(1, sizeof(*packed));
	struct config_error error;
	struct session above;
	size_t used = 0;
	bool denies = false;

	if (packed && directory && directory[0] == '/' &&
	    config_pack(config, &packed->settings, packed->text, sizeof(packed->text), &used,
			&error) == 0 &&
	    session_open_to_read(config, directory, &above) == 0) {
		denies = has_rules(&above.segment, packed) && is_supervised(&above.segment);
		session_close(&above);
	}
	free(packed);
	return denies;
}

/* Is it the run inside of a confinement: `SEEN confined ...` (confined.c)? */
static bool is_confined_run(pid_t pid, const char *program)
{
	char path[64], words[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	ssize_t bytes = sys_read_file(path, words, sizeof(words));
	size_t first = bytes > 0 ? strlen(words) + 1 : 0;
	return first && first < (size_t)bytes && strcmp(words, program) == 0 &&
	       strcmp(words + first, "confined") == 0;
}

bool above_is_confined(void)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	pid_t pid = getpid();

	/* Either way to confine a run sets no_new_privs. */
	if (length < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return false;
	program[length] = '\0';
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		pid = (pid_t)process_parent_of((uint32_t)pid);
		if (is_confined_run(pid, program))
			return true;
	}
	return false;
}
