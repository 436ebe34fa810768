/*
 * config/: the order of sources, what an untrusted .seen.ini may do, every refusal with its line,
 * packing, the fingerprint, docs/seen.ini.
 *
 * Each test has a temporary directory: it is HOME, "etc.ini" in it stands for /etc/seen/seen.ini, and
 * "w" in it is the current directory.
 */
#include "config/rules.h"
#include "config_case.h"

TestSuite(config, .init = start, .fini = stop);

/* ---- what the tests say ---- */

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

/* Nothing but built-in values was there: these are there again. */
Test(config, failure_of_the_first_load)
{
	write_file("w/.seen.ini",
		   "[notice]\nmin_bytes = 600\n[rule x]\nop = read\n[notice]\nmin_byte = 1\n");
	fails(-EINVAL);
	is(OPTION_notice_min_bytes, "512", "built-in");
	cr_assert_null(config_rule_find(config, "x"));
	cr_assert_eq(unlink(at("w/.seen.ini")), 0);
	load();
	is(OPTION_notice_min_bytes, "512", "built-in");
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
	cr_assert_eq(config_set(config, KEY, "99", "-c", &error), 0);
	cr_assert_eq(config_number(config, OPTION_history_result_max_length), 500);
	cr_assert_not_null(config_warning(config));
	cr_assert_eq(config_set(config, KEY, "10001", "-c", &error), 0);
	cr_assert_eq(config_number(config, OPTION_history_result_max_length), 10000);
	cr_assert_str_eq(config_warning(config),
			 "-c: [history] result_max_length = '10001' is not a number from 100 to "
			 "10000; 10000 is used");
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
