/* A temporary HOME with files of configuration, and what is loaded from them: what the tests of the configuration share. */
#ifndef SEEN_TESTS_CONFIG_CASE_H
#define SEEN_TESTS_CONFIG_CASE_H

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

static inline const char *at(const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", home, name);
	return path;
}

static inline void write_bytes(const char *name, const char *data, size_t bytes)
{
	FILE *file = fopen(at(name), "w");

	cr_assert(file != NULL, "%s: %s", at(name), strerror(errno));
	cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
	cr_assert_eq(fclose(file), 0);
}

static inline void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static inline void make_directory(const char *name)
{
	cr_assert_eq(mkdir(at(name), 0700), 0, "%s: %s", at(name), strerror(errno));
}

static inline void start(void)
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

static inline void stop(void)
{
	char command[512];

	config = config_free(config);
	free((void *)(uintptr_t)request.system_file);
	config_request_done(&request);
	cr_assert_eq(chdir("/"), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", home);
	cr_assert_eq(system(command), 0);
}

static inline void load(void)
{
	int result = config_load(config, &request, &error);

	cr_assert_eq(result, 0, "%d: %s", result, error.text);
}

static inline void fails(int expected)
{
	int result = config_load(config, &request, &error);

	cr_assert_eq(result, expected, "%d: %s", result, result < 0 ? error.text : "");
	cr_assert(strchr(error.text, '\n') == NULL);
}

static inline void says(const char *part)
{
	cr_assert(strstr(error.text, part) != NULL, "'%s' is not in: %s", part, error.text);
}

static inline void flag(const char *key, const char *value, const char *origin)
{
	request.flags[request.flag_count++] = (struct config_flag){ .key = key,
								    .value = value,
								    .origin = origin };
}

static inline void is(size_t id, const char *text, const char *origin)
{
	const struct config_value *value = config_value(config, id);

	cr_assert_str_eq(value->text, text);
	cr_assert_str_eq(value->origin, origin);
}

/* A refused line of the user's file: what the error says, behind the file's name. */
static inline void refuses(const char *text, const char *line, const char *part)
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

#endif
