/*
 * `seen enable`, `seen disable`, `seen enabled`: each start of an agent is wrapped, by a launcher that
 * comes first on PATH (launch.h) or a function of the shell (shell_rc.h), and the agent's hooks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agents/hooks.h"
#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/enable/enabled.h"
#include "cli/enable/enabled_state.h"
#include "cli/enable/shell_rc.h"
#include "config/value.h"

static bool all, project, functions, no_hooks, dry_run, show, json;

static const struct option_spec ENABLE_SPECS[] = {
	{ "--all", NULL, "every agent that is on PATH", &all, NULL },
	{ "--project", NULL, "only below the current workspace; hooks in its settings", &project,
	  NULL },
	{ "--functions", NULL, "functions of the shell in place of a directory on PATH", &functions,
	  NULL },
	{ "--no-hooks", NULL, "leave the agent's settings alone", &no_hooks, NULL },
	{ "--dry-run", NULL, "print what would be done, and do nothing", &dry_run, NULL },
	{ "--show", NULL, "the same, with the text of each file", &show, NULL },
};

static const struct option_spec DISABLE_SPECS[] = {
	{ "--all", NULL, "every agent", &all, NULL },
	{ "--project", NULL, "only below the current workspace", &project, NULL },
	{ "--dry-run", NULL, "print what would be done, and do nothing", &dry_run, NULL },
};

static const struct option_spec ENABLED_SPECS[] = {
	{ "--json", NULL, "a JSON document, seen/enabled/1", &json, NULL },
};

static const struct options ENABLE_OPTIONS = {
	.usage = "enable [OPTION...] AGENT...",
	.summary = "Has each start of an agent run under `seen run`: puts a launcher of its name "
		   "first on PATH, by one line in the shell's file, and installs its hooks. npx: "
		   "agents that npx starts.",
	.specs = ENABLE_SPECS,
	.spec_count = sizeof(ENABLE_SPECS) / sizeof(ENABLE_SPECS[0]),
	.words_between = true,
};

static const struct options DISABLE_OPTIONS = {
	.usage = "disable [OPTION...] AGENT...",
	.summary = "Takes back what `seen enable` did. Every file is as it was before, byte for "
		   "byte.",
	.specs = DISABLE_SPECS,
	.spec_count = sizeof(DISABLE_SPECS) / sizeof(DISABLE_SPECS[0]),
	.words_between = true,
};

static const struct options ENABLED_OPTIONS = {
	.usage = "enabled [OPTION...]",
	.summary =
		"Lists the agents that `seen enable` has wrapped, what each name starts now, and "
		"whether it is wrapped then.",
	.specs = ENABLED_SPECS,
	.spec_count = sizeof(ENABLED_SPECS) / sizeof(ENABLED_SPECS[0]),
};

/* ---- what is done, or would be ---- */

static int code = EXIT_CODE_OK;

static void report(const char *path, const char *what)
{
	(void)printf("%s: %s%s\n", path, dry_run ? "would be " : "", what);
}

static void fail(const char *fault)
{
	message("%s", fault);
	code = EXIT_CODE_PARTLY;
}

static void show_text(const char *text)
{
	for (const char *at = text; show && *at;) {
		size_t length = strcspn(at, "\n");
		(void)printf("    %.*s\n", (int)length, at);
		at += length + (at[length] == '\n');
	}
}

/* ---- launchers ---- */

/* Returns whether the launcher is there, or gone, now. */
static bool set_link(const char *name, bool is_wanted)
{
	char directory[PATH_MAX], path[PATH_MAX + ENABLED_NAME_BYTES], self[PATH_MAX];
	char now[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0 || enabled_path("launchers", directory, sizeof(directory)) < 0) {
		fail("the launcher's place is not known: /proc, or a home directory, is missing");
		return false;
	}
	self[length] = '\0';
	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	length = readlink(path, now, sizeof(now) - 1);
	if (length < 0 && errno != ENOENT && errno != ENOTDIR && errno != EINVAL) {
		message("%s: %s", path, strerror(errno));
		code = EXIT_CODE_PARTLY;
		return false;
	}
	now[length < 0 ? 0 : length] = '\0';
	if (is_wanted ? strcmp(now, self) == 0 : length < 0)
		return true;
	if (!dry_run &&
	    ((length >= 0 && unlink(path) < 0) ||
	     (is_wanted && (enabled_make_directory(directory) < 0 || symlink(self, path) < 0)))) {
		message("%s: %s", path, strerror(errno));
		code = EXIT_CODE_PARTLY;
		return false;
	}
	report(path, is_wanted ? "a link to seen" : "removed");
	if (!dry_run && !is_wanted)
		(void)rmdir(directory); /* where it is the last */
	return true;
}

/* ---- hooks ---- */

/* Installs or removes the hooks of an agent in a place.  Returns whether they were installed now. */
static bool set_hooks(const char *name, const char *place, bool is_wanted)
{
	const struct hooks_agent *agent = hooks_find(name);
	struct hooks_place found;

	if (!agent)
		return false;
	hooks_inspect(agent, strcmp(place, ENABLED_EVERYWHERE) != 0 ? place : NULL, &found);
	if (!is_wanted && found.fault[0])
		fail(found.fault);
	if (is_wanted == (found.state == HOOKS_INSTALLED))
		return false;
	if (is_wanted)
		hooks_warn(agent, &found);
	if (dry_run) {
		char *text = show && is_wanted ? hooks_text(agent, HOOKS_ANSWER) : NULL;
		report(found.path, is_wanted ? "given hooks" : "without the hooks");
		show_text(text ? text : "");
		free(text);
		return is_wanted;
	}
	int done = is_wanted ? hooks_install(agent, &found, HOOKS_ANSWER)
			     : hooks_remove(agent, &found);
	if (done < 0)
		fail(found.fault);
	else if (done > 0)
		report(found.path, is_wanted ? "hooks installed" : "hooks removed");
	if (done > 0 && is_wanted && agent->note)
		(void)printf("%s\n", agent->note);
	return done > 0 && is_wanted;
}

/* ---- shells ---- */

static void set_text(const char *path, const char *text)
{
	const struct shell_file file = { .is_own = true, .has_it = access(path, F_OK) == 0 };
	struct shell_file own = file;
	char fault[PATH_MAX + 128] = "";

	(void)snprintf(own.path, sizeof(own.path), "%s", path);
	if (dry_run) {
		report(path, text ? "written" : "removed");
		show_text(text ? text : "");
		return;
	}
	int done = text ? shell_add(&own, text, fault, sizeof(fault))
			: shell_remove(&own, fault, sizeof(fault));
	if (done < 0)
		fail(fault[0] ? fault : strerror(-done));
}

static void set_shells(const struct enabled *enabled, bool by_functions)
{
	struct shell_file files[SHELL_FILES_MAX];
	char path[PATH_MAX], line[2 * PATH_MAX + 64], fault[PATH_MAX + 128];
	size_t count = shell_files(files);
	char *text = enabled->count ? shell_text(enabled, by_functions, false) : NULL;

	if (enabled->count && !text) { /* none would have all of it removed */
		fail("out of memory: the shells' files are as they were");
		return;
	}
	if (enabled_path("enabled.sh", path, sizeof(path)) == 0 &&
	    (text || access(path, F_OK) == 0))
		set_text(path, text);
	for (size_t i = 0; i < count; i++) {
		char *fish = files[i].is_own && text ? shell_text(enabled, by_functions, true)
						     : NULL;
		bool is_due = text ? files[i].is_own || !files[i].has_it : files[i].has_it;
		if (!text && files[i].is_unread) {
			message("%s: cannot be read: its line may be there still", files[i].path);
			code = EXIT_CODE_PARTLY;
		}
		if (is_due && dry_run) {
			report(files[i].path, files[i].is_own ? text ? "written" : "removed"
					      : text          ? "given a line"
							      : "without its line");
			show_text(fish                                          ? fish
				  : text && shell_line(line, sizeof(line)) == 0 ? line
										: "");
		} else if (is_due && text && files[i].is_own && !fish) {
			fail("out of memory");
		} else if (is_due) {
			int done = text ? shell_add(&files[i], fish, fault, sizeof(fault))
					: shell_remove(&files[i], fault, sizeof(fault));
			if (done < 0) {
				message("%s", fault[0] ? fault : strerror(-done));
				code = EXIT_CODE_PARTLY;
			} else if (done > 0) {
				report(files[i].path, text ? "reads it now" : "as it was");
			}
		}
		free(fish);
	}
	const char *other = shell_without_file();
	if (enabled->count && other && enabled_path("launchers", fault, sizeof(fault)) == 0)
		message("%s reads none of the files of bash, zsh and fish: have it put %s first on "
			"PATH",
			other, fault);
	else if (enabled->count && !count)
		message("no file of a shell was found; put this line into yours: . '%s'", path);
	free(text);
}

/* ---- the commands ---- */

static const char *place_of(const struct config *config)
{
	return project ? config_workspace(config) : ENABLED_EVERYWHERE;
}

static void enable_one(struct enabled *enabled, const char *name, const char *place)
{
	char path[PATH_MAX];

	if (!enabled_name_is_valid(name)) {
		message("'%s' is no name of an agent's program", name);
		code = EXIT_CODE_USAGE;
		return;
	}
	if (executable_find(name, path, sizeof(path)) < 0) {
		message("%s: there is no program of that name on PATH", name);
		code = EXIT_CODE_NOTHING;
		return;
	}
	if (!set_link(name, true))
		return;
	bool has_hooks = !no_hooks && set_hooks(name, place, true);
	struct enabled_agent *known = enabled_find(enabled, name, place);
	if (known)
		known->has_hooks |= has_hooks;
	else if (enabled_add(enabled, name, place, has_hooks) < 0)
		fail("out of memory");
	(void)printf("%s: %s wrapped%s%s: %s\n", name, dry_run ? "would be" : "is",
		     project ? " below " : "", project ? place : "", path);
}

static void enable_all(struct enabled *enabled, const struct config *config, const char *place)
{
	char *names = strdup(config_text(config, OPTION_processes_agents)), *rest = names, *name;
	char path[PATH_MAX];
	unsigned count = 0;

	while (names && (name = strsep(&rest, " ")))
		if (enabled_name_is_valid(name) && executable_find(name, path, sizeof(path)) == 0) {
			enable_one(enabled, name, place);
			count++;
		}
	free(names);
	if (!count) {
		message("no agent that is known is on PATH");
		code = EXIT_CODE_NOTHING;
	}
}

static int enable(const struct config *config, char **words)
{
	char path[PATH_MAX];
	struct enabled enabled;
	const char *place = place_of(config);
	int error = enabled_read(&enabled);

	dry_run |= show;
	if (error == 0) {
		for (; *words; words++)
			enable_one(&enabled, *words, place);
		if (all)
			enable_all(&enabled, config, place);
		if (enabled.count)
			set_shells(&enabled, functions || shell_by_functions());
		error = dry_run || !enabled.count ? 0 : enabled_write(&enabled);
	}
	if (error < 0) {
		message("%s", error == -ENOENT ? "there is no home directory" : strerror(-error));
		code = EXIT_CODE_OUTPUT;
	} else if (enabled.count && code != EXIT_CODE_USAGE && !dry_run &&
		   enabled_path("enabled.sh", path, sizeof(path)) == 0) {
		if (code == EXIT_CODE_OK)
			(void)printf("shells read it at their next start; this one: . '%s'\n",
				     path);
		else if (code == EXIT_CODE_PARTLY)
			message("a shell whose file was not written reads it by this line: . '%s'",
				path);
	}
	enabled_free(&enabled);
	return code;
}

/* Takes one back in all places, or in one.  Returns how many there were. */
static unsigned disable_one(struct enabled *enabled, const char *name, const char *place)
{
	unsigned count = 0;

	for (size_t i = 0; i < enabled->count;) {
		struct enabled_agent *agent = &enabled->agents[i];
		if (strcmp(agent->name, name) != 0 || (place && strcmp(agent->place, place) != 0)) {
			i++;
			continue;
		}
		if (agent->has_hooks)
			(void)set_hooks(name, agent->place, false);
		enabled_remove(enabled, agent);
		count++;
	}
	if (count && !enabled_has(enabled, name))
		(void)set_link(name, false);
	if (count)
		(void)printf("%s: %s\n", name, dry_run ? "would be as it was" : "is as it was");
	return count;
}

static int disable(const struct config *config, char **words)
{
	const char *place = project ? config_workspace(config) : NULL;
	struct enabled enabled;
	int error = enabled_read(&enabled);

	for (; error == 0 && *words; words++)
		if (!disable_one(&enabled, *words, place)) {
			message("%s is not wrapped; `seen enabled` lists those that are", *words);
			code = EXIT_CODE_NOTHING;
		}
	for (size_t before = enabled.count + 1; error == 0 && all && enabled.count < before;) {
		char name[ENABLED_NAME_BYTES] = "";
		before = enabled.count;
		for (size_t i = 0; i < enabled.count && !name[0]; i++)
			if (!place || strcmp(enabled.agents[i].place, place) == 0)
				(void)snprintf(name, sizeof(name), "%s", enabled.agents[i].name);
		if (name[0])
			(void)disable_one(&enabled, name, place);
	}
	if (error == 0)
		set_shells(&enabled, shell_by_functions());
	if (error == 0 && !dry_run)
		error = enabled_write(&enabled);
	if (error < 0) {
		message("%s", strerror(-error));
		code = EXIT_CODE_OUTPUT;
	}
	enabled_free(&enabled);
	return code;
}

static int act(const struct options *options, int (*call)(const struct config *, char **), int argc,
	       char **argv)
{
	struct parsed parsed = { .config = NULL };
	int parsed_code;

	if (options_parse(options, argc, argv, &parsed, &parsed_code) == 0) {
		bool has_words = parsed.first_word < argc;
		if (has_words == all) {
			message(all ? "--all takes no names"
				    : "which agent? Name one, or say --all");
			parsed_code = EXIT_CODE_USAGE;
		} else if (options_load(&parsed, &parsed_code) == 0) {
			parsed_code = call(parsed.config, argv + parsed.first_word);
		}
	}
	options_done(&parsed);
	return parsed_code;
}

int cmd_enable(int argc, char **argv)
{
	return act(&ENABLE_OPTIONS, enable, argc, argv);
}

int cmd_disable(int argc, char **argv)
{
	return act(&DISABLE_OPTIONS, disable, argc, argv);
}

static json_t *json_row(const struct enabled_agent *agent, const struct enabled_state *state)
{
	json_t *row = json_object();

	(void)json_object_set_new(row, "agent", json_string(agent->name));
	(void)json_object_set_new(row, "place",
				  strcmp(agent->place, ENABLED_EVERYWHERE) == 0
					  ? json_null()
					  : text_json(agent->place));
	(void)json_object_set_new(row, "program",
				  state->program[0] ? text_json(state->program) : json_null());
	(void)json_object_set_new(row, "wrapped", json_boolean(state->is_wrapped));
	(void)json_object_set_new(row, "why_not",
				  state->why_not ? json_string(state->why_not) : json_null());
	(void)json_object_set_new(row, "hooks", json_boolean(agent->has_hooks));
	return row;
}

static int list(void)
{
	struct enabled enabled;
	json_t *rows = json_array();

	if (enabled_read(&enabled) == 0 && !enabled.count && !json) {
		message("no agent is wrapped: `seen enable AGENT`");
		code = EXIT_CODE_NOTHING;
	}
	for (size_t i = 0; i < enabled.count; i++) {
		const struct enabled_agent *agent = &enabled.agents[i];
		struct enabled_state state;
		enabled_state_find(agent->name, &state);
		if (json) {
			(void)json_array_append_new(rows, json_row(agent, &state));
			continue;
		}
		(void)printf("%-13s %s%s%s%s; hooks %s\n", agent->name,
			     strcmp(agent->place, ENABLED_EVERYWHERE) == 0 ? "" : "below ",
			     strcmp(agent->place, ENABLED_EVERYWHERE) == 0 ? "everywhere"
									   : agent->place,
			     state.is_wrapped ? ": " : ": NOT wrapped: ",
			     state.is_wrapped ? state.program : state.why_not,
			     agent->has_hooks ? "installed" : "not by seen enable");
	}
	enabled_free(&enabled);
	if (json) {
		json_t *document = json_object();
		(void)json_object_set_new(document, "schema", json_string("seen/enabled/1"));
		(void)json_object_set_new(document, "agents", rows);
		return text_json_print(document) < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
	}
	json_decref(rows);
	return code;
}

int cmd_enabled(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int parsed_code;

	if (options_parse_alone(&ENABLED_OPTIONS, argc, argv, &parsed, &parsed_code) == 0)
		parsed_code = list();
	options_done(&parsed);
	return parsed_code;
}
