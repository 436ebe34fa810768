/* config.h: packing, fingerprints, nearest names and documentation. */
#include "config_case.h"

static char area[SETTINGS_TEXT_BYTES_MAX];

TestSuite(config, .init = start, .fini = stop);

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
