/*
 * config/: the order of sources, what an untrusted .seen.ini may do, every refusal with its line,
 * packing, the fingerprint, docs/seen.ini.
 *
 * Each test has a temporary directory: it is HOME, "etc.ini" in it stands for /etc/seen/seen.ini, and
 * "w" in it is the current directory.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/document.h"
#include "config/fingerprint.h"
#include "config/ini.h"
#include "config/load.h"
#include "config/nearest.h"
#include "config/pack.h"
#include "config/value.h"

static char home[256];
static struct config *config;
static struct config_request request;
static struct config_error error;
static char area[SETTINGS_TEXT_BYTES_MAX];

/* ---- the temporary directory ---- */

static const char *at(const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", home, name);
	return path;
}

static void write_bytes(const char *name, const char *data, size_t bytes)
{
	FILE *file = fopen(at(name), "w");

	cr_assert(file != NULL, "%s: %s", at(name), strerror(errno));
	cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
	cr_assert_eq(fclose(file), 0);
}

static void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static void make_directory(const char *name)
{
	cr_assert_eq(mkdir(at(name), 0700), 0, "%s: %s", at(name), strerror(errno));
}

static void start(void)
{
	static const char *const names[] = { "XDG_CONFIG_HOME", "SEEN_SESSION",
					     "SEEN_SESSION_MODE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_eq(unsetenv(names[i]), 0);
	(void)snprintf(home, sizeof(home), "/tmp/seen-test-config-XXXXXX");
	cr_assert(mkdtemp(home) != NULL);
	cr_assert_eq(setenv("HOME", home, 1), 0);
	make_directory(".config");
	make_directory(".config/seen");
	make_directory("w");
	cr_assert_eq(chdir(at("w")), 0);
	request.system_file = strdup(at("etc.ini"));
	cr_assert_eq(config_new(&config), 0);
}

static void stop(void)
{
	char command[512];

	config = config_free(config);
	free((void *)(uintptr_t)request.system_file);
	config_request_done(&request);
	cr_assert_eq(chdir("/"), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", home);
	cr_assert_eq(system(command), 0);
}

TestSuite(config, .init = start, .fini = stop);

/* ---- what the tests say ---- */

static void load(void)
{
	int result = config_load(config, &request, &error);

	cr_assert_eq(result, 0, "%d: %s", result, error.text);
}

static void fails(int expected)
{
	int result = config_load(config, &request, &error);

	cr_assert_eq(result, expected, "%d: %s", result, result < 0 ? error.text : "");
	cr_assert(strchr(error.text, '\n') == NULL);
}

static void says(const char *part)
{
	cr_assert(strstr(error.text, part) != NULL, "'%s' is not in: %s", part, error.text);
}

static void flag(const char *key, const char *value, const char *origin)
{
	request.flags[request.flag_count++] = (struct config_flag){ .key = key,
								    .value = value,
								    .origin = origin };
}

static void is(size_t id, const char *text, const char *origin)
{
	const struct config_value *value = config_value(config, id);

	cr_assert_str_eq(value->text, text);
	cr_assert_str_eq(value->origin, origin);
}

/* A refused line of the user's file: what the error says, behind the file's name. */
static void refuses(const char *text, const char *line, const char *part)
{
	char start_of_error[600];

	write_file(".config/seen/seen.ini", text);
	fails(-EINVAL);
	(void)snprintf(start_of_error, sizeof(start_of_error),
		       "%s:%s: ", at(".config/seen/seen.ini"), line);
	cr_assert_eq(strncmp(error.text, start_of_error, strlen(start_of_error)), 0,
		     "'%s' does not begin: %s", start_of_error, error.text);
	says(part);
}

/* The same for the workspace's file. */
static void workspace_refuses(const char *text, const char *part)
{
	write_file("w/.seen.ini", text);
	fails(-EINVAL);
	says("/w/.seen.ini:2: ");
	says(part);
}

/* ---- built-in values and the order of sources ---- */

Test(config, built_in)
{
	is(OPTION_session_mode, "substitute", "built-in");
	is(OPTION_notice_min_bytes, "512", "built-in");
	cr_assert_eq(config_number(config, OPTION_notice_min_bytes), 512);
	cr_assert_eq(config_number(config, OPTION_session_mode), SESSION_MODE_SUBSTITUTE);
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);

		cr_assert_str_eq(config_text(config, id), option_default(option));
		cr_assert_eq(option_find(option->section, option->name), id);
		if (option->kind == OPTION_CHOICE)
			cr_assert_str_eq(option->choices[config_number(config, id)],
					 option_default(option));
		if (option->kind == OPTION_NUMBER)
			cr_assert(config_number(config, id) >= option->min &&
				  config_number(config, id) <= option->max);
		if (option->flag[0] != '\0')
			cr_assert_eq(option_find_flag(option->flag), id,
				     "--%s is given to two options", option->flag);
	}
}

Test(config, sections_are_those_of_the_list)
{
	size_t count = 0, next = 0;
	const char *const *sections = option_sections(&count);

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		if (next > 0 && strcmp(option_at(id)->section, sections[next - 1]) == 0)
			continue;
		cr_assert_lt(next, count);
		cr_assert_str_eq(option_at(id)->section, sections[next]);
		next++;
	}
	cr_assert_eq(next, count);
}

Test(config, lists_of_certain_words)
{
	write_file("etc.ini", "[rules]\nfail_on = rule,stale unobserved\n");
	load();
	is(OPTION_rules_fail_on, "rule stale unobserved", at("etc.ini:2"));
	cr_assert(config_has_word(config, OPTION_rules_fail_on, "stale"));
	cr_assert_not(config_has_word(config, OPTION_rules_fail_on, "stal"));
	refuses("[rules]\nfail_on = rule, stales\n", "2",
		"'stales' is none of: rule, stale, unobserved; did you mean 'stale'?");
	refuses("[rules]\nfail_on = rule;\n", "2", "'rule;' is none of");
}

Test(config, order_of_sources)
{
	write_file("etc.ini", "[notice]\nmax_bytes = 11000\n");
	load();
	is(OPTION_notice_max_bytes, "11000", at("etc.ini:2"));

	write_file(".config/seen/seen.ini", "; x\n\n[notice]\nmax_bytes = 10000\n");
	load();
	is(OPTION_notice_max_bytes, "10000", at(".config/seen/seen.ini:4"));

	write_file("named.ini", "[notice]\nmax_bytes = 9000\n");
	request.file = at("named.ini");
	load();
	is(OPTION_notice_max_bytes, "9000", at("named.ini:2"));

	write_file("w/.seen.ini", "[notice]\nmax_bytes = 8000\n");
	load();
	is(OPTION_notice_max_bytes, "8000", at("w/.seen.ini:2"));

	cr_assert_eq(setenv("SEEN_NOTICE_MAX_BYTES", "19000", 1), 0);
	load();
	is(OPTION_notice_max_bytes, "19000", "SEEN_NOTICE_MAX_BYTES");

	flag("notice.max_bytes", "18000", "-c");
	flag("notice.max_bytes", "17000", "--later");
	load();
	is(OPTION_notice_max_bytes, "17000", "--later");
	cr_assert_eq(config_file_count(config), 4);
	cr_assert_str_eq(config_file_at(config, 3), at("w/.seen.ini"));
}

Test(config, xdg_config_home)
{
	make_directory("x");
	make_directory("x/seen");
	write_file("x/seen/seen.ini", "[session]\nmode = observe\n");
	write_file(".config/seen/seen.ini", "[session]\nmode = off\n");
	cr_assert_eq(setenv("XDG_CONFIG_HOME", at("x"), 1), 0);
	load();
	is(OPTION_session_mode, "observe", at("x/seen/seen.ini:2"));
	/* relative or empty: as if it were not set */
	cr_assert_eq(setenv("XDG_CONFIG_HOME", "x", 1), 0);
	load();
	is(OPTION_session_mode, "off", at(".config/seen/seen.ini:2"));
	cr_assert_eq(setenv("XDG_CONFIG_HOME", "", 1), 0);
	cr_assert_eq(unsetenv("HOME"), 0);
	load();
	is(OPTION_session_mode, "substitute", "built-in");
}

Test(config, failure_changes_nothing)
{
	flag("session.mode", "observe", "--mode");
	load();
	write_file("w/.seen.ini", "[notice]\nmin_bytes = 600\nmax_bytes = 5\nmin_byte = 1\n");
	fails(-EINVAL);
	is(OPTION_notice_min_bytes, "512", "built-in");
	is(OPTION_session_mode, "observe", "--mode");
}

/* Where so little depends on it, a slip does not cost a run. */
Test(config, what_is_no_number_is_let_pass_once)
{
	static const char KEY[] = "history.result_max_length";

	cr_assert_null(config_warning(config));
	cr_assert_eq(config_set(config, KEY, "700", "-c", &error), 0);
	cr_assert_eq(config_set(config, KEY, "lots", "-c", &error), 0);
	cr_assert_eq(config_number(config, OPTION_history_result_max_length), 500);
	cr_assert_str_eq(config_warning(config),
			 "-c: [history] result_max_length = 'lots' is not a number from 100 to "
			 "10000; 500 is used");
	cr_assert_eq(config_set(config, "notice.min_bytes", "1", "-c", &error), 0);
	cr_assert_not_null(config_warning(config), "of another option");
	cr_assert_eq(config_set(config, KEY, "99", "-c", &error), -EINVAL);
	cr_assert_not_null(strstr(error.text, "from 100 to 10000"));
	cr_assert_not_null(config_warning(config), "a failure changes nothing");
	cr_assert_eq(config_set(config, KEY, "", "-c", &error), 0);
	cr_assert_eq(config_set(config, KEY, "100", "-c", &error), 0);
	cr_assert_null(config_warning(config));
	cr_assert_eq(config_set(config, "notice.min_bytes", "lots", "-c", &error), -EINVAL,
		     "no other one");
}

Test(config, named_file_must_exist)
{
	request.file = at("none.ini");
	fails(-ENOENT);
	says(at("none.ini"));
	says("--config");
	request.file = at("w"); /* a directory */
	fails(-EINVAL);
	says("not a regular file");
}

Test(config, fifo_does_not_block)
{
	cr_assert_eq(mkfifo(at("w/.seen.ini"), 0600), 0);
	fails(-EINVAL);
	says("not a regular file");
}

/* ---- lists ---- */

Test(config, list_extends_and_clears)
{
	char origins[1100];

	write_file(".config/seen/seen.ini",
		   "[paths]\nexclude = a/** b\nexclude = b c\n[paths]\nexclude=a/**\n");
	load();
	const struct config_value *value = config_value(config, OPTION_paths_exclude);
	cr_assert(strstr(value->text, ".goose/** a/** b c") != NULL, "%s", value->text);
	cr_assert_eq(value->part_count, 3);
	cr_assert_str_eq(value->parts[1].words, "a/** b");
	cr_assert_str_eq(value->parts[1].origin, at(".config/seen/seen.ini:2"));
	cr_assert_str_eq(value->parts[2].words, "c");
	(void)snprintf(origins, sizeof(origins), "built-in, %s, %s", at(".config/seen/seen.ini:2"),
		       at(".config/seen/seen.ini:3"));
	cr_assert_str_eq(value->origin, origins);

	write_file(".config/seen/seen.ini", "[paths]\nexclude =\n");
	load();
	is(OPTION_paths_exclude, "", at(".config/seen/seen.ini:2"));
	write_file("w/.seen.ini", "[paths]\nexclude = x\n");
	flag("paths.exclude", "y\n\tz ", "--exclude");
	load();
	(void)snprintf(origins, sizeof(origins), "%s, --exclude", at("w/.seen.ini:2"));
	is(OPTION_paths_exclude, "x y z", origins);

	cr_assert_eq(setenv("SEEN_PATHS_EXCLUDE", "", 1), 0);
	request.flag_count = 0;
	load();
	is(OPTION_paths_exclude, "", "SEEN_PATHS_EXCLUDE");
}

/* ---- the workspace's file ---- */

Test(config, workspace_file_tightens)
{
	write_file("w/.seen.ini",
		   "[session]\nmode = observe\n[notice]\nmin_bytes = 600\nmax_bytes = 24000\n"
		   "[window]\nrequests = 49\nbytes = 1\nage_s = 300\n[paths]\nexclude = secret/**\n"
		   "[processes]\nignore = slow\n");
	load();
	is(OPTION_session_mode, "observe", at("w/.seen.ini:2"));
	is(OPTION_notice_min_bytes, "600", at("w/.seen.ini:4"));
	is(OPTION_window_requests, "49", at("w/.seen.ini:7"));
	is(OPTION_window_bytes, "1", at("w/.seen.ini:8"));
	is(OPTION_window_age_s, "300", at("w/.seen.ini:9")); /* from "no limit" */
	is(OPTION_processes_ignore, "slow", at("w/.seen.ini:13"));
}

Test(config, workspace_file_cannot_loosen)
{
	workspace_refuses("[notice]\nmin_bytes = 511\n",
			  "may only raise it: [notice] min_bytes = 511 is not from 512 to");
	workspace_refuses("[notice]\nmax_bytes = 24001\n",
			  "may only lower it: [notice] max_bytes = 24001 is not from 1 to 24000");
	workspace_refuses("[window]\nrequests = 51\n", "from 1 to 50 requests");
	workspace_refuses("[window]\nbytes = 0\n",
			  "no limit"); /* the smallest number, the loosest value */
	workspace_refuses("[window]\nbytes = 400001\n", "from 1 to 400000");
	workspace_refuses("[paths]\nexclude =\n", "cannot be cleared");
	workspace_refuses("[paths]\nexclude = ; nothing\n", "cannot be cleared");
	workspace_refuses("[notice]\nmin_bytes = x\n",
			  "is not a number from 1 to 1073741824 bytes");
	write_file(".config/seen/seen.ini", "[session]\nmode = observe\n");
	workspace_refuses("[session]\nmode = substitute\n",
			  "'substitute' is none of: observe, off");
	workspace_refuses(
		"[session]\nmode = obsrve\n",
		".seen.ini:2: [session] mode = 'obsrve' is none of: observe, off; did you "
		"mean 'observe'?");
}

Test(config, workspace_file_sets_nothing_else)
{
	workspace_refuses("[session]\nagent_is = outside\n",
			  "may not set it: [session] agent_is; it is allowed in");
	workspace_refuses("[session]\nvia = both\n", "may not set it: [session] via");
	workspace_refuses("[processes]\nviewers = sed\n", "SEEN_PROCESSES_VIEWERS");
	workspace_refuses("[processes]\nagents = bash\n", "may not set it");
	workspace_refuses("[processes]\nshells = x\n", "may not set it");
	workspace_refuses("[notice]\ntemplate = {nonce} rm -rf /\n", "may not set it");
	workspace_refuses("[notice]\nyield = never\n", "may not set it");
	workspace_refuses("[session]\nstate_dir = /tmp\n", "may not set it");
	workspace_refuses("[paths]\nworkspace = /\n", "may not set it");
	workspace_refuses("[paths]\ninclude = x\n", "may not set it");
	workspace_refuses("\n[agent claude]\nmax_output_bytes = 1000000\n",
			  "[agent claude] may not be given by");
	/* every option has one of the rules above or is listed here */
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);

		cr_assert(option->kind == OPTION_NUMBER || option->rule == OPTION_RULE_NEVER ||
			  option->rule == (option->kind == OPTION_LIST ? OPTION_RULE_EXTEND
								       : OPTION_RULE_LATER));
	}
}

Test(config, workspace_file_is_no_link)
{
	write_file("other.ini", "[session]\nmode = off\n");
	cr_assert_eq(symlink("../other.ini", at("w/.seen.ini")), 0);
	fails(-ELOOP);
	says("symbolic link");
}

/* ---- where the workspace is ---- */

Test(config, workspace_is_found)
{
	load();
	cr_assert_str_eq(config_workspace(config), at("w"));
	make_directory(".git");
	load();
	cr_assert_str_eq(config_workspace(config), at("w")); /* git takes it for nothing either */
	write_file(".git/HEAD", "ref: refs/heads/main\n");
	load();
	cr_assert_str_eq(config_workspace(config), home);
	write_file("w/.git", "gitdir: ../.git/worktrees/w\n"); /* a worktree: nearer, and a file */
	make_directory("w/deep");
	make_directory("w/deep/er");
	cr_assert_eq(chdir(at("w/deep/er")), 0);
	load();
	cr_assert_str_eq(config_workspace(config), at("w"));
}

Test(config, workspace_is_named)
{
	make_directory("a");
	make_directory("b");
	make_directory("c");
	cr_assert_eq(symlink("b", at("link")), 0);
	write_file("b/.seen.ini", "[session]\nmode = off\n");
	write_file(".config/seen/seen.ini", "[paths]\nworkspace = ~/a\n");
	load();
	cr_assert_str_eq(config_workspace(config), at("a"));
	cr_assert_eq(setenv("SEEN_PATHS_WORKSPACE", at("link"), 1), 0);
	load();
	cr_assert_str_eq(config_workspace(config), at("b"));
	is(OPTION_session_mode, "off",
	   at("b/.seen.ini:2")); /* its .seen.ini, not that of the file's */
	flag("paths.workspace", "../c", "--workspace");
	load();
	cr_assert_str_eq(config_workspace(config), at("c"));
	is(OPTION_session_mode, "substitute", "built-in");
	request.flags[0].value = "../none";
	fails(-ENOENT);
	says("--workspace: [paths] workspace");
	write_file("file", "");
	request.flags[0].value = "../file";
	fails(-ENOTDIR);
}

Test(config, directories_become_absolute)
{
	write_file(".config/seen/seen.ini", "[session]\nstate_dir = ~/state\n");
	flag("session.runtime_dir", "run", "--runtime-dir");
	load();
	is(OPTION_session_state_dir, at("state"), at(".config/seen/seen.ini:2"));
	is(OPTION_session_runtime_dir, at("w/run"), "--runtime-dir");
	refuses("[session]\nstate_dir = state\n", "2", "must begin with / or ~/");
}

Test(config, current_directory_is_gone)
{
	cr_assert_eq(rmdir(at("w")), 0);
	fails(-ENOENT);
	says("--workspace");
}

/* ---- refused lines ---- */

Test(config, unknown_names)
{
	refuses("[notice]\nmin_byte = 3\n", "2",
		"unknown key 'min_byte' in [notice]; did you mean 'min_bytes'?");
	refuses("[notice]\nzebra = 3\n", "2",
		"its keys are: min_bytes, max_bytes, template, yield, insist_requests");
	refuses("[notice]\nMIN_BYTES = 3\n", "2", "unknown key");
	refuses("\n[notcie]\nmin_bytes = 3\n", "2",
		"unknown section [notcie]; did you mean [notice]?");
	refuses("[zebra]\n", "1",
		"sections are: session, processes, paths, notice, window, journal, guard, content, "
		"undo, watch, checkpoint, requests, history, context, rules, agent NAME, rule "
		"NAME");
	refuses("min_bytes = 3\n", "1", "before any section");
	refuses("[agent pi]\nstat = x\n", "2", "did you mean 'state'?");
	refuses("[agent]\nstate = x\n", "1", "[agent] needs a name: [agent NAME]");
	refuses("[agent pi codex]\n", "1", "is not [agent NAME]");
	refuses("[agent ]\n", "1", "is not [agent NAME]");
	refuses("[agent ../x]\n", "1", "is not [agent NAME]");
}

Test(config, bad_numbers)
{
	static const char *const bad[] = { "",
					   "-1",
					   "+5",
					   "5k",
					   "0x10",
					   "1 000",
					   "1.5",
					   "0",
					   "1073741825",
					   "18446744073709551616",
					   "99999999999999999999999",
					   "five" };
	char line[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(line, sizeof(line), "[notice]\nmin_bytes = %s\n", bad[i]);
		refuses(line, "2", "is not a number from 1 to 1073741824 bytes");
	}
	write_file(".config/seen/seen.ini",
		   "[notice]\nmin_bytes = 1\nmax_bytes = 01073741824 ; a comment\n");
	load();
	is(OPTION_notice_max_bytes, "1073741824", at(".config/seen/seen.ini:3"));
}

Test(config, bad_choices)
{
	refuses("[session]\nmode = of\n", "2",
		"'of' is none of: substitute, observe, off; did you mean 'off'?");
	refuses("[session]\nmode =\n", "2", "none of: substitute, observe, off");
	refuses("[session]\nmode = OFF\n", "2", "none of: substitute, observe, off");
}

Test(config, long_lines)
{
	static const size_t lengths[] = { 200, 201, 5000 };
	char text[6000];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int head = snprintf(text, sizeof(text), "[paths]\nexclude = ");
		size_t bytes = (size_t)head + lengths[i] - strlen("exclude = ");

		memset(text + head, 'x', sizeof(text) - (size_t)head);
		(void)snprintf(text + bytes, sizeof(text) - bytes, "\n[session]\nmode = off\n");
		refuses(text, "2", "too long");
		says("at most 199 are allowed");
	}
}

Test(config, longest_line_is_kept_whole)
{
	char text[256] = "[paths]\nexclude =\nexclude = ";
	char *value = text + strlen(text);
	size_t bytes = INI_LINE_BYTES_MAX - strlen("exclude = ");

	memset(value, 'x', bytes);
	value[bytes] = '\0';
	for (int newline = 0; newline < 2; newline++) {
		write_file(".config/seen/seen.ini", text);
		load();
		cr_assert_eq(strlen(config_text(config, OPTION_paths_exclude)), bytes);
		value[bytes] = '\n';
	}
}

Test(config, long_comments_are_comments)
{
	char text[6000];

	memset(text, 'x', sizeof(text));
	text[0] = ';';
	memcpy(text + 1000, "\n[session]\n  #", 14);
	/* what follows byte 199 of a comment would be a line of its own to inih */
	memcpy(text + 1014 + 185, "mode=off", 8);
	(void)snprintf(text + 3000, sizeof(text) - 3000, "\nmode = observe\n");
	write_file(".config/seen/seen.ini", text);
	load();
	is(OPTION_session_mode, "observe", at(".config/seen/seen.ini:4"));
}

Test(config, indented_lines)
{
	refuses("[paths]\nexclude = a\n  b\n", "3", "begins with white space");
	refuses("[paths]\n\texclude = a\n", "2", "begins with white space");
	refuses(" [paths]\n", "1", "begins with white space");
}

Test(config, malformed_lines)
{
	refuses("[notice\nmin_bytes = 600\n", "1", "no ']'");
	refuses("[notice] min_bytes = 600\n", "1", "nothing but a comment may follow");
	refuses("[notice] ; fine\nmin_bytes\n", "2",
		"neither '[section]' nor 'name = value' nor a comment");
	/* the first error is the one that is reported, whichever check found it */
	refuses("[notice]\nnonsense\nmin_bytes = x\n", "2", "neither");
	refuses("[notice]\nmin_bytes = x\nnonsense\n", "2", "is not a number");
	refuses("[notice]\nnonsense\n  indented\n", "2", "neither");
	refuses("[agent aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", "1",
		"section's name is too long");
	refuses("[session]\nmode = off\nmode = off\n", "3",
		"given twice in one file, first on line 2");
	refuses("[agent pi]\ntested = 1\n[agent pi]\ntested = 2\n", "4", "given twice");
	refuses("[session]\n= off\n", "2", "unknown key ''");
}

Test(config, bytes_that_are_no_text)
{
	static const char nul[] = "[session]\nmode = off\0\n";

	refuses("[paths]\nexclude = \xff\n", "2", "not UTF-8");
	refuses("[paths]\nexclude = \xc0\xaf\n", "2", "not UTF-8");
	refuses("[paths]\nexclude = \xed\xa0\x80\n", "2", "not UTF-8");
	refuses("[paths]\nexclude = \xe2\x82", "2", "not UTF-8");
	refuses("[paths]\nexclude = \x1b[31m\n", "2", "control character");
	refuses("[paths]\nexclude = \xc2\x9b"
		"31m\n",
		"2", "control character");
	refuses("; \x07\n", "1", "control character");
	write_bytes(".config/seen/seen.ini", nul, sizeof(nul) - 1);
	fails(-EINVAL);
	says("seen.ini:2: a NUL byte");
}

Test(config, dos_file)
{
	write_file(".config/seen/seen.ini",
		   "\xef\xbb\xbf[paths]\r\nexclude =\r\nexclude = \xc3\xa4/** \r\n");
	load();
	is(OPTION_paths_exclude, "\xc3\xa4/**", at(".config/seen/seen.ini:3"));
}

Test(config, file_that_is_too_large)
{
	char *text = malloc(INI_FILE_BYTES_MAX + 1);

	memset(text, '\n', INI_FILE_BYTES_MAX + 1);
	write_bytes("w/.seen.ini", text, INI_FILE_BYTES_MAX);
	load();
	write_bytes("w/.seen.ini", text, INI_FILE_BYTES_MAX + 1);
	free(text);
	fails(-EINVAL);
	says("too large");
}

Test(config, template)
{
	char text[OPTION_TEMPLATE_BYTES_MAX + 2];

	refuses("[notice]\ntemplate = seen before\n", "2", "must hold {nonce}");
	refuses("[notice]\ntemplate = seen ; {nonce}\n", "2", "it is 'seen'"); /* a comment */
	memset(text, 'x', sizeof(text));
	memcpy(text, "{nonce}", 7);
	text[OPTION_TEMPLATE_BYTES_MAX] = '\0';
	cr_assert_eq(config_set(config, "notice.template", text, "-c", &error), 0, "%s",
		     error.text);
	text[OPTION_TEMPLATE_BYTES_MAX] = 'x';
	text[OPTION_TEMPLATE_BYTES_MAX + 1] = '\0';
	cr_assert_eq(config_set(config, "notice.template", text, "-c", &error), -EINVAL);
	says("-c: [notice] template is 1025 bytes long; at most 1024");
	cr_assert_eq(config_set(config, "notice.template", "{nonce}\nx", "-c", &error), -EINVAL);
	says("control character");
	cr_assert_eq(config_set(config, "notice.template", "", "-c", &error), -EINVAL);
}

/* ---- environment and flags ---- */

Test(config, environment)
{
	static const char *const reserved[] = {
		"SEEN_SESSION=x",    "SEEN_P=1:2",      "SEEN_SCOPE=s", "SEEN_AGENT_IS=outside",
		"SEEN_BUILD=/build", "SEEN_SESSIONS=3", "SEEN_",        NULL
	};
	static const char *const misspelt[] = { "SEEN_NOTICE_MIN_BYTE=3", NULL };
	static const char *const strange[] = { "SEEN_WINDOW_ZEBRAS=3", NULL };
	static const char *const bad[] = { "SEEN_SESSION_MODE=never", NULL };

	request.environment = reserved;
	load();
	request.environment = misspelt;
	fails(-EINVAL);
	says("SEEN_NOTICE_MIN_BYTE: ");
	says("did you mean SEEN_NOTICE_MIN_BYTES?");
	request.environment = strange;
	fails(-EINVAL);
	says("SEEN_WINDOW_ZEBRAS: no such option");
	request.environment = bad;
	fails(-EINVAL);
	says("SEEN_SESSION_MODE: [session] mode = 'never' is none of: substitute, observe, off");
}

static int parse(const char *first, const char *second, int *ret_index)
{
	/* a command line outlives the request: each call has one of its own */
	static char words[32][2][64];
	static unsigned next;
	char *arguments[] = { words[next][0], words[next][1], NULL };

	cr_assert_lt(next, 32);
	(void)snprintf(words[next][0], sizeof(words[next][0]), "%s", first);
	(void)snprintf(words[next][1], sizeof(words[next][1]), "%s", second ? second : "");
	next++;
	*ret_index = 0;
	return config_request_flag(&request, second ? 2 : 1, arguments, ret_index, &error);
}

Test(config, flags)
{
	int index = 0;

	cr_assert_eq(parse("--mode", "observe", &index), 1);
	cr_assert_eq(index, 2);
	cr_assert_str_eq(request.flags[0].key, "session.mode");
	load();
	is(OPTION_session_mode, "observe", "--mode");
	cr_assert_eq(parse("--mode=off", "cat", &index), 1);
	cr_assert_eq(index, 1);
	load();
	is(OPTION_session_mode, "off", "--mode");
	cr_assert_eq(parse("-c", "notice.min_bytes=600", &index), 1);
	cr_assert_eq(index, 2);
	load();
	is(OPTION_notice_min_bytes, "600", "-c");
	cr_assert_eq(parse("-cagent claude.code-2.max_output_bytes=5", NULL, &index), 1);
	load();
	cr_assert_eq(config_profile_find(config, "claude.code-2")->values[0].number, 5);
	cr_assert_eq(parse("--config", "x.ini", &index), 1);
	cr_assert_str_eq(request.file, "x.ini");

	cr_assert_eq(parse("--json", NULL, &index), 0);
	cr_assert_eq(parse("--modes", "x", &index), 0);
	cr_assert_eq(parse("--", "x", &index), 0);
	cr_assert_eq(parse("cat", "x", &index), 0);
	cr_assert_eq(index, 0);
	cr_assert_eq(parse("--mode", NULL, &index), -EINVAL);
	says("--mode: needs a value");
	cr_assert_eq(parse("-c", NULL, &index), -EINVAL);
	cr_assert_eq(parse("-c", "notice.min_bytes", &index), -EINVAL);
	says("-c: needs section.name=value, not 'notice.min_bytes'");
}

Test(config, set)
{
	cr_assert_eq(config_set(config, "nodot", "x", "-c", &error), -EINVAL);
	says("-c: 'nodot' is not section.name");
	cr_assert_eq(config_set(config, ".x", "x", "-c", &error), -EINVAL);
	cr_assert_eq(config_set(config, "notice.min_byte", "3", "-c", &error), -EINVAL);
	says("-c: unknown key 'min_byte' in [notice]; did you mean 'min_bytes'?");
	cr_assert_eq(config_set(config, "agent new.max_output_bytes", "x", "-c", &error), -EINVAL);
	cr_assert(config_profile_find(config, "new") == NULL);
}

/* ---- profiles ---- */

Test(config, profiles)
{
	load();
	size_t built_in = config_profile_count(config);
	const struct config_profile *claude = config_profile_find(config, "claude");
	cr_assert(claude != NULL);
	cr_assert_str_eq(claude->origin, "built-in");
	cr_assert_str_eq(claude->values[PROFILE_OPTION_TESTED].text, "2.1.330");
	cr_assert(strstr(claude->values[PROFILE_OPTION_STATE].text, "~/.claude/**") != NULL);
	cr_assert_eq(claude->values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number, 30000);

	static const char *const BOTH[] = { "claude", "claude-code", "cline",   "codex",
					    "kilo",   "kilocode",    "opencode" };
	for (size_t i = 0; i < built_in; i++) {
		const struct config_profile *profile = config_profile_at(config, i);
		bool both = false;
		for (size_t j = 0; j < sizeof(BOTH) / sizeof(BOTH[0]); j++)
			both = both || strcmp(profile->name, BOTH[j]) == 0;

		cr_assert_eq(profile->values[PROFILE_OPTION_VIA].number,
			     both ? PROFILE_VIA_BOTH : PROFILE_VIA_PRELOAD);
		cr_assert_str_eq(profile->values[PROFILE_OPTION_VIA].text,
				 both ? "both" : "preload");
	}

	write_file(".config/seen/seen.ini", "[agent claude]\nmax_output_bytes = 2000\nstate = "
					    "~/x/**\n[agent mine]\n[agent yours]\ntested = 7\n");
	load();
	cr_assert_eq(config_profile_count(config), built_in + 2);
	claude = config_profile_find(config, "claude");
	cr_assert_eq(claude->values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number, 2000);
	cr_assert_str_eq(claude->values[PROFILE_OPTION_MAX_OUTPUT_BYTES].origin,
			 at(".config/seen/seen.ini:2"));
	cr_assert(strstr(claude->values[PROFILE_OPTION_STATE].text, "~/.claude/**") != NULL);
	cr_assert(strstr(claude->values[PROFILE_OPTION_STATE].text, " ~/x/**") != NULL);
	const struct config_profile *mine = config_profile_find(config, "mine");
	cr_assert_str_eq(mine->origin, at(".config/seen/seen.ini:4"));
	cr_assert_eq(mine->values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number,
		     SETTINGS_MAX_OUTPUT_BYTES);
	cr_assert_str_eq(mine->values[PROFILE_OPTION_TESTED].text, "generic");
	cr_assert_str_eq(mine->values[PROFILE_OPTION_VIA].text, "preload");
	cr_assert_str_eq(mine->values[PROFILE_OPTION_EDIT_PATTERN].text, "none");
	refuses("[agent pi]\nedit_pattern = x\n", "2", "is none of: none, access-write, no-sniff");
	refuses("[agent pi]\nvia = supervise\n", "2", "is none of: preload, both");
}

Test(config, every_agent_has_a_profile)
{
	char *words = strdup(config_text(config, OPTION_processes_agents));
	char *rest = NULL;

	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (strcmp(word, "seen-demo-agent") != 0)
			cr_assert(config_profile_find(config, word) != NULL, "no [agent %s]", word);
	}
	free(words);
	for (size_t i = 0; i < config_profile_count(config); i++) {
		const struct config_profile *profile = config_profile_at(config, i);

		/* What was not measured is assumed to be little, whatever the profile states. */
		cr_assert(profile->values[PROFILE_OPTION_MEASURED].text[0] ||
			  profile->values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number <= 16000);
	}
}

Test(config, too_many_profiles)
{
	char text[4096];
	size_t used = 0;

	for (int i = 0; i <= SETTINGS_PROFILES_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "[agent a%d]\n", i);
	write_file(".config/seen/seen.ini", text);
	fails(-ENOSPC);
	says("at most 64 profiles");
}

/* ---- packing ---- */

/* The strings of a packed text, joined by "|". */
static const char *unpacked(struct settings_text text)
{
	static char joined[8192];
	size_t used = 0;

	joined[0] = '\0';
	for (const char *s = NULL; (s = settings_text_next(area, sizeof(area), text, s));)
		used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s",
					 used ? "|" : "", s);
	return joined;
}

Test(config, pack)
{
	struct settings settings;
	size_t used = 0;

	write_file(".config/seen/seen.ini", "[processes]\nignore = a b* c\n[agent pi]\nstate "
					    "=\nstate = ~/x/** ~/w/x/** ~/w* ~ /y ~z ~/w\n"
					    "state = ~/wx ~/*/y ~/W/z /**/k ~/w/\n");
	write_file("w/.seen.ini", "[session]\nmode = off\n[notice]\nmin_bytes = 700\n");
	load();
	cr_assert_eq(config_pack(config, &settings, area, sizeof(area), &used, &error), 0);
	cr_assert_gt(used, 0);
	cr_assert_lt(used, sizeof(area) / 4);
	cr_assert_eq(settings.session_mode, SESSION_MODE_OFF);
	cr_assert_eq(settings.notice_min_bytes, 700);
	cr_assert_eq(settings.window_age_s, 0);
	cr_assert_eq(settings.session_via, SESSION_VIA_AUTO);
	cr_assert_str_eq(unpacked(settings.processes_ignore), "a|b*|c");
	cr_assert_eq(settings.processes_ignore.count, 3);
	cr_assert_str_eq(unpacked(settings.processes_viewers), "cat");
	cr_assert_str_eq(unpacked(settings.paths_workspace), at("w"));
	cr_assert_str_eq(unpacked(settings.notice_template),
			 config_text(config, OPTION_notice_template));
	cr_assert_eq(settings.paths_include.count, 0);
	cr_assert(settings_text_next(area, sizeof(area), settings.paths_include, NULL) == NULL);

	cr_assert_eq(settings.profile_count, config_profile_count(config));
	for (size_t i = 0; i < settings.profile_count; i++) {
		if (strcmp(unpacked(settings.profiles[i].name), "pi") != 0)
			continue;
		char state[2000];

		/* those that match nothing in the workspace, ~/w, are left out */
		(void)snprintf(state, sizeof(state),
			       "%s/w/x/**|%s/w*|~|~z|%s/w|%s/*/y|%s/W/z|/**/k|%s/w/", home, home,
			       home, home, home, home);
		cr_assert_str_eq(unpacked(settings.profiles[i].state), state);
		cr_assert_str_eq(unpacked(settings.profiles[i].tested), "0.73.1");
		cr_assert_eq(settings.profiles[i].max_output_bytes, 51200);
		cr_assert_eq(settings.profiles[i].max_output_lines, 1999);
		cr_assert_str_eq(unpacked(settings.profiles[i].measured), "0.73.1");
		cr_assert_eq(settings.profiles[i].edit_pattern, EDIT_PATTERN_ACCESS_WRITE);
		return;
	}
	cr_assert(false, "no profile pi");
}

Test(config, pack_without_a_home)
{
	static const char *const empty[] = { NULL };
	struct settings settings;
	size_t used = 0;

	request.environment = empty;
	flag("agent pi.state", "/y", "-c");
	load();
	cr_assert_eq(config_pack(config, &settings, area, sizeof(area), &used, &error), 0);
	for (size_t i = 0; i < settings.profile_count; i++)
		cr_assert(strchr(unpacked(settings.profiles[i].state), '~') == NULL);
}

Test(config, pack_into_too_small_an_area)
{
	struct settings settings;
	size_t used = 77, needed = 0;

	load();
	cr_assert_eq(config_pack(config, &settings, area, sizeof(area), &needed, &error), 0);
	memset(area, 'x', sizeof(area));
	for (size_t capacity = 0; capacity < needed; capacity += capacity < 16 ? 1 : 97) {
		cr_assert_eq(config_pack(config, &settings, area, capacity, &used, &error),
			     -ENOSPC);
		cr_assert_eq(used, 77);
		cr_assert_eq(area[capacity], 'x', "written behind its end");
	}
	says("the largest is [requests] never with");
	says("set by built-in");
	cr_assert_eq(config_pack(config, &settings, area, needed, &used, &error), 0);
	cr_assert_eq(used, needed);
	cr_assert_eq(area[needed], 'x');
}

Test(config, damaged_texts_are_no_more)
{
	struct settings_text text = { .offset = 4, .size_bytes = 4, .count = 2 };

	memcpy(area, "xxx\0a\0b\0", 8);
	cr_assert_str_eq(unpacked(text), "a|b");
	text.offset = UINT32_MAX;
	cr_assert_str_eq(unpacked(text), "");
	text.offset = 4;
	text.size_bytes = UINT32_MAX;
	cr_assert_str_eq(unpacked(text), "");
	text.size_bytes = 3; /* its end is no NUL */
	cr_assert_str_eq(unpacked(text), "");
}

/* ---- fingerprint ---- */

/* FNV-1a as published, over what fingerprint.h says is hashed, made from the table. */
static uint64_t slow_add(uint64_t hash, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (const char *c = text; *c != '\0'; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
	return hash;
}

Test(config, fingerprint)
{
	static const char *const kinds[] = { "NUMBER", "CHOICE", "TEXT", "LIST" };
	uint64_t hash = 0xcbf29ce484222325u ^ sizeof(struct settings);

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);

		hash = slow_add(hash, "%s %s.%s", kinds[option->kind], option->section,
				option->name);
		for (size_t i = 0; i < option->choice_count; i++)
			hash = slow_add(hash, " %s", option->choices[i]);
		hash = slow_add(hash, ";");
	}
	hash = slow_add(hash, "rule read write create delete rename link metadata list exec;");
	cr_assert_eq(settings_fingerprint(), hash);
	cr_assert_eq(settings_fingerprint(), settings_fingerprint());
	cr_assert_neq(fingerprint_add(1, "ab", 2), fingerprint_add(1, "ba", 2));
}

/* ---- nearest names ---- */

Test(config, nearest)
{
	static const char *const names[] = { "status", NULL,  "files", "forget",
					     "doctor", "run", "config" };
	size_t count = sizeof(names) / sizeof(names[0]);
	char endless[100];

	cr_assert_eq(nearest_distance("", "abc"), 3);
	cr_assert_eq(nearest_distance("abc", "abc"), 0);
	cr_assert_eq(nearest_distance("ab", "ba"), 1);
	cr_assert_eq(nearest_distance("kitten", "sitting"), 3);
	cr_assert_eq(nearest_distance("ca", "abc"), 3); /* restricted: 2 without the restriction */
	cr_assert_str_eq(nearest_name("stauts", names, count), "status");
	cr_assert_str_eq(nearest_name("file", names, count), "files");
	cr_assert_str_eq(nearest_name("rnu", names, count), "run");
	cr_assert_str_eq(nearest_name("cnofgi", names, count), "config");
	cr_assert(nearest_name("zebra", names, count) == NULL);
	cr_assert(nearest_name("x", names, count) == NULL);
	cr_assert(nearest_name("", names, count) == NULL);
	memset(endless, 's', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	cr_assert(nearest_name(endless, names, count) == NULL);
}

/* ---- documentation ---- */

static char *source_file(const char *name)
{
	const char *root = getenv("SEEN_SOURCE");
	char path[1024];
	char *text = calloc(1, 65536);

	(void)snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
	FILE *file = fopen(path, "r");
	cr_assert(file != NULL, "%s: %s (SEEN_SOURCE names the repository)", path, strerror(errno));
	cr_assert_lt(fread(text, 1, 65535, file), 65535);
	cr_assert_eq(fclose(file), 0);
	return text;
}

Test(config, document_is_up_to_date)
{
	char *text = NULL;
	char *written = source_file("docs/seen.ini");
	size_t bytes = 0;

	cr_assert_eq(config_document(&text, &bytes), 0);
	cr_assert_eq(strlen(text), bytes);
	cr_assert(strcmp(text, written) == 0,
		  "docs/seen.ini is old: seen config --docs > docs/seen.ini");
	free(written);
	free(text);
}

Test(config, document_is_a_seen_ini)
{
	char *text = NULL;
	size_t bytes = 0;

	cr_assert_eq(config_document(&text, &bytes), 0);
	cr_assert_eq(config_read(config, text, bytes, "docs", true, &error), 0, "%s", error.text);
	for (size_t id = 0; id < OPTION_COUNT; id++)
		cr_assert_str_eq(config_value(config, id)->origin, "built-in");

	/* every assignment put to use: the same values, set here where no word was there already */
	for (char *c = text; *c != '\0'; c++)
		if (*c == ';' && c[1] != ' ' && c[1] != '\n' && (c == text || c[-1] == '\n'))
			*c = '\n';
	cr_assert_eq(config_read(config, text, bytes, "docs", true, &error), 0, "%s", error.text);
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);

		cr_assert_str_eq(config_text(config, id), option_default(option));
		if (option->kind == OPTION_NUMBER || option->kind == OPTION_CHOICE)
			cr_assert_eq(strncmp(config_value(config, id)->origin, "docs:", 5), 0);
	}
	cr_assert(config_profile_find(config, "NAME") != NULL);
	free(text);
}
