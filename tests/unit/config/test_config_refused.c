/* config.h: lines that are refused, the environment and flags, profiles. */
#include "config_case.h"

TestSuite(config, .init = start, .fini = stop);

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
		"undo, watch, checkpoint, requests, history, context, summary, rules, confine, "
		"agent NAME, "
		"rule "
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

/* Whatever stands beside it: text is inspected several bytes at a time. */
Test(config, bytes_that_are_no_text_at_each_place)
{
	static const char BYTES[] = "\x01\x1f\x7f\x80\xa0\xff";
	char text[40];

	for (size_t size = 1; size <= sizeof(text); size++) {
		for (size_t place = 0; place < size; place++) {
			memset(text, place % 2 ? '~' : ' ', size);
			cr_expect_null(ini_text_check(text, size, false));
			text[place] = '\t';
			cr_expect_null(ini_text_check(text, size, false));
			for (const char *byte = BYTES; *byte; byte++) {
				text[place] = *byte;
				cr_expect_not_null(ini_text_check(text, size, false),
						   "%x at %zu of %zu", (unsigned char)*byte, place,
						   size);
			}
		}
	}
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
	cr_assert_str_eq(claude->values[PROFILE_OPTION_TESTED].text, "2.1.332");
	cr_assert(strstr(claude->values[PROFILE_OPTION_STATE].text, "~/.claude/**") != NULL);
	cr_assert_eq(claude->values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number, 30000);

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
	cr_assert_str_eq(mine->values[PROFILE_OPTION_EDIT_PATTERN].text, "none");
	refuses("[agent pi]\nedit_pattern = x\n", "2", "is none of: none, access-write, no-sniff");
	refuses("[agent pi]\nvia = both\n", "2", "unknown key 'via'");
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
