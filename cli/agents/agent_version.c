/* Versions of agents: see agent_version.h. */
#include "cli/agents/agent_version.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/process/scope.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	PACKAGE_BYTES_MAX = 1 << 20,
	WORDS_BYTES = 4096, /* of a command line: the script stands at its beginning */
	SCOPES_MAX = 1024,  /* that are remembered as asked about */
};

/* A scope may be there before its agent took its image. */
static const uint64_t PATIENCE_NS = UINT64_C(5000000000);

static bool is_version(const char *text, size_t bytes, const char *version)
{
	size_t length = strlen(version);
	return bytes >= length && memcmp(text, version, length) == 0 &&
	       (bytes == length || text[length] == '-');
}

/* The version of the package in a directory.  Returns false where it does not say what it is. */
static bool read_package(const char *directory, char *ret_version)
{
	char path[PATH_MAX + 16];
	bool is_known = false;

	(void)snprintf(path, sizeof(path), "%s/package.json", directory);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	char *text = malloc(PACKAGE_BYTES_MAX);
	ssize_t got = text ? read(fd, text, PACKAGE_BYTES_MAX) : -1;
	json_t *package = got > 0 ? json_loadb(text, (size_t)got, 0, NULL) : NULL;
	const char *name = json_string_value(json_object_get(package, "name"));
	const char *found = json_string_value(json_object_get(package, "version"));
	if (name && found && strlen(found) < AGENT_VERSION_BYTES) {
		strcpy(ret_version, found);
		is_known = true;
	}
	json_decref(package);
	free(text);
	(void)close(fd);
	return is_known;
}

bool agent_version_find(const char *path, char *ret_version)
{
	char directory[PATH_MAX];

	if (strlen(path) >= sizeof(directory))
		return false;
	memcpy(directory, path, strlen(path) + 1);
	for (char *slash = strrchr(directory, '/'); slash; slash = strrchr(directory, '/')) {
		*slash = '\0';
		if (read_package(directory, ret_version))
			return true;
	}
	return false;
}

bool agent_version_is(const char *path, const char *version)
{
	char found[AGENT_VERSION_BYTES];

	for (const char *part = path; *part; part += strcspn(part, "/")) {
		part += strspn(part, "/");
		if (is_version(part, strcspn(part, "/"), version))
			return true;
	}
	return agent_version_find(path, found) && is_version(found, strlen(found), version);
}

/* Does the file belong to one of these versions, divided by spaces? */
static bool is_one_of(const char *path, const char *versions)
{
	char version[64];

	for (const char *at = versions; *at;) {
		size_t bytes = strcspn(at, " ");
		if (bytes && bytes < sizeof(version)) {
			memcpy(version, at, bytes);
			version[bytes] = '\0';
			if (agent_version_is(path, version))
				return true;
		}
		at += bytes;
		at += strspn(at, " ");
	}
	return false;
}

/* The file that a process was started from, and the script where that is an interpreter's first
 * word. */
static bool process_is(uint32_t pid, const char *versions)
{
	char name[64], link[PATH_MAX], words[WORDS_BYTES], path[2 * PATH_MAX + 2], real[PATH_MAX];

	(void)snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	ssize_t length = readlink(name, link, sizeof(link) - 1);
	if (length <= 0)
		return false;
	link[length] = '\0';
	if (is_one_of(link, versions))
		return true;
	(void)snprintf(name, sizeof(name), "/proc/%u/cmdline", pid);
	length = sys_read_file(name, words, sizeof(words));
	if (length <= 0)
		return false;
	const char *word = words, *end = words + length;
	for (word += strlen(word) + 1; word < end && *word == '-'; word += strlen(word) + 1)
		;
	if (word >= end || !*word)
		return false;
	(void)snprintf(name, sizeof(name), "/proc/%u/cwd", pid);
	length = readlink(name, link, sizeof(link) - 1);
	link[length > 0 ? length : 0] = '\0';
	(void)snprintf(path, sizeof(path), "%s%s%s", *word == '/' ? "" : link,
		       *word == '/' ? "" : "/", word);
	return realpath(path, real) && is_one_of(real, versions);
}

/* Is it known of another scope of that process?  One of its in-process reads begins late: an agent
 * may have written its title over its command line by then (pi). */
static bool is_known_of(const struct segment *segment, const struct scope_slot *scope)
{
	struct scope_slot other;

	SEGMENT_EACH_USED (segment, TABLE_SCOPES, i)
		if (slot_read(segment_slot(segment, TABLE_SCOPES, i), &other,
			      SCOPE_CHECKED_BYTES) &&
		    other.id && other.anchor_pid == scope->anchor_pid &&
		    other.profile == scope->profile && other.flags & SCOPE_VERSION)
			return true;
	return false;
}

void agent_versions_tick(const struct segment *segment)
{
	static struct {
		uint64_t id, until_ns; /* 0: it is known */
	} asked[SCOPES_MAX];
	const struct settings *settings = segment->settings;
	uint64_t now_ns = sys_boottime_ns();
	struct scope_slot scope;

	SEGMENT_EACH_USED (segment, TABLE_SCOPES, i) {
		const struct scope_slot *slot = segment_slot(segment, TABLE_SCOPES, i);
		uint64_t id = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
		uint64_t *until_ns = &asked[i % SCOPES_MAX].until_ns;
		if (id && asked[i % SCOPES_MAX].id != id) {
			asked[i % SCOPES_MAX].id = id;
			*until_ns = now_ns + PATIENCE_NS;
		}
		if (!id || *until_ns < now_ns || !slot_read(slot, &scope, SCOPE_CHECKED_BYTES) ||
		    scope.id != id)
			continue;
		const char *measured = NULL;
		if (scope.profile && scope.profile <= settings->profile_count &&
		    scope.profile <= SETTINGS_PROFILES_MAX)
			measured = segment_text(
				segment, settings->profiles[scope.profile - 1].measured, NULL);
		if (!measured || strcmp(measured, "*") == 0 || !scope.anchor_pid)
			*until_ns = 0;
		else if ((is_known_of(segment, &scope) || process_is(scope.anchor_pid, measured)) &&
			 scope_set_flags(segment, id, SCOPE_VERSION, SCOPE_VERSION) == 0)
			*until_ns = 0;
	}
}
