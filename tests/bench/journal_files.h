/*
 * The files of a made session (journal_maker.c): their names, hostile ones among them, and which of them is next.
 */
#ifndef SEEN_TESTS_BENCH_JOURNAL_FILES_H
#define SEEN_TESTS_BENCH_JOURNAL_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/support.h"
#include "tracker/content/version.h"

enum {
	FILES = 4000, /* of the workspace */
	BESIDE = 64,  /* outside it, after those */
	BUILT = 200,  /* of the workspace, after those: what a build makes */
	ALL = FILES + BESIDE + BUILT,
	NAME_BYTES = 4200,
};

struct file {
	char *path; /* relative to the workspace, or absolute */
	uint64_t size_bytes, ino;
	uint32_t change; /* its version is made from it */
	uint64_t scope;  /* that was given it */
};

static struct file files[ALL];
static double chances[FILES]; /* that it is this file or one before */
static uint64_t chance_state; /* the seed, at first */

/* ---- chance ---- */

static inline uint64_t chance(void) /* splitmix64 */
{
	uint64_t value = chance_state += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

static inline unsigned below(unsigned limit)
{
	return (unsigned)((chance() >> 32) * limit >> 32);
}

static inline bool percent(unsigned share)
{
	return below(100) < share;
}

/* One of the workspace, by Zipf's law. */
static inline struct file *any_file(void)
{
	double at = (double)(chance() >> 11) / (double)(UINT64_C(1) << 53) * chances[FILES - 1];
	unsigned low = 0, high = FILES - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (chances[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return &files[low];
}

/* ---- files ---- */

/* Names that read as something else where an escape is forgotten: a table, a page, a terminal, a spreadsheet, a path. */
static inline size_t hostile_name(unsigned kind, unsigned number, size_t longest, char *ret_name)
{
	static const struct {
		const char *before, *after; /* the number */
	} NAMES[] = {
		{ "quote\"'`$(id)`", "" },
		{ "comma,semi;tab\there", "" },
		{ "two\nlines\r\n", "\n" },
		{ "<script>alert(", ")</script>" },
		{ "\"><img src=x onerror=alert(", ")>" },
		{ "]]><!-- ", " --!>" },
		{ "</script><svg onload=alert(", ")>" },
		{ "\xff\xfe\xc3(invalid", "\xe2\x82" },
		{ "\xe2\x80\xaegpj.", "\xe2\x80\xac" },
		{ "\033[31mred\033]0;title\a", "\033[2J" },
		{ "\xc2\x9b", "31m" },
		{ "=HYPERLINK(\"http:x", "\")" },
		{ "+", "+1" },
		{ "-", "" },
		{ "@SUM(", ")" },
		{ "|a|b|", "`" },
		{ "::error::", "" },
		{ "${{ secrets.X", " }}" },
		{ "\\N\\x41\\", "\\" },
		{ "'; DROP TABLE events; --", "" },
		{ " ", " " },
		{ "NULL", "" },
		{ "%s%n", "%" },
		{ "\xed\xa0\x80\xf4\x90\x80\x80", "" },
		{ "\x01\x7f", "\x1f" },
		{ "[link](javascript:alert(", "))" },
	};
	enum { KINDS = sizeof(NAMES) / sizeof(NAMES[0]) };
	char part[256];

	kind %= KINDS + 2;
	if (kind < KINDS)
		return (size_t)snprintf(ret_name, NAME_BYTES, "%s%u%s", NAMES[kind].before, number,
					NAMES[kind].after);
	/* As long as a path may be: directories of 255 bytes each, of letters or of what is no UTF-8. */
	size_t length = 0;
	memset(part, kind == KINDS ? 'n' : 0xff, sizeof(part));
	while (length + 256 < longest) {
		memcpy(ret_name + length, part, 255);
		length += 255;
		ret_name[length++] = '/';
	}
	return length + (size_t)snprintf(ret_name + length, 64, "long%u", number);
}

/* longest: of a hostile name, in bytes. */
static inline void make_files(bool is_hostile, size_t longest)
{
	static const char *const DIRECTORIES[] = {
		"src",
		"src/core",
		"src/net",
		"src/ui",
		"include",
		"tests",
		"tests/data",
		"docs",
		"scripts",
		"vendor/lib",
		"node_modules/left-pad",
	};
	static const char *const ENDINGS[] = {
		"c", "h", "py", "ts", "md", "json", "txt",
	};
	static const char *const SPECIAL[] = {
		".env",           ".env.production", "config/id_rsa", ".github/workflows/ci.yml",
		".gitlab-ci.yml", ".git/config",     "AGENTS.md",     "README.md",
		"Makefile",       "package.json",
	};
	static const char *const OTHERS[] = {
		"/home/user/.aws/credentials",
		"/home/user/.npmrc",
		"/home/user/.ssh/id_ed25519",
		"/etc/passwd",
		"/etc/shadow",
		"/usr/include/stdio.h",
		"/home/user/.bashrc",
		"/tmp/build.log",
	};
	enum {
		SPECIAL_COUNT = sizeof(SPECIAL) / sizeof(SPECIAL[0]),
		OTHERS_COUNT = sizeof(OTHERS) / sizeof(OTHERS[0])
	};
	char name[NAME_BYTES];
	double sum = 0;

	for (unsigned i = 0; i < ALL; i++) {
		struct file *file = &files[i];
		size_t length;
		if (i >= FILES + BESIDE)
			length = (size_t)snprintf(name, sizeof(name), "build/unit%u.o", i);
		else if (i >= FILES)
			length = i - FILES < OTHERS_COUNT
					 ? (size_t)snprintf(name, sizeof(name), "%s",
							    OTHERS[i - FILES])
					 : (size_t)snprintf(name, sizeof(name),
							    "/home/user/.cache/tool/blob%u", i);
		else if (i % 97 == 7 && i / 97 < SPECIAL_COUNT)
			length = (size_t)snprintf(name, sizeof(name), "%s", SPECIAL[i / 97]);
		else if (is_hostile && i % 4 == 1)
			length = hostile_name(i / 4, i, longest, name);
		else
			length = (size_t)snprintf(
				name, sizeof(name), "%s/file%u.%s",
				DIRECTORIES[below(sizeof(DIRECTORIES) / sizeof(DIRECTORIES[0]))], i,
				ENDINGS[below(sizeof(ENDINGS) / sizeof(ENDINGS[0]))]);
		file->path = strndup(name, length);
		must(file->path != NULL);
		file->size_bytes = 64 + (UINT64_C(1) << below(17)) + below(4096);
		file->ino = 100000 + i;
		file->change = 1;
		if (i < FILES)
			chances[i] = sum += 1.0 / (i + 1);
	}
}

static inline struct version version_of(const struct file *file)
{
	uint64_t seed = file->ino << 20 | file->change;
	return (struct version){ .low = seed * UINT64_C(0x9e3779b97f4a7c15),
				 .high = seed * UINT64_C(0xd6e8feb86659fd93),
				 .size_bytes = file->size_bytes };
}

/* One of those outside the workspace. */
static inline struct file *beside(void)
{
	return &files[FILES + (percent(40) ? below(8) : below(BESIDE))];
}

#endif
