/* An agent that was there before: see elder.h. */
#include "cli/run/elder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/path/path.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/subject.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	WORDS_MAX = 16,
	WORDS_BYTES = 4096,
	AGENTS_MAX = 8,
};

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return one < other ? -1 : one > other;
}

/* The local sockets that a process listens on, by inode, in order (/proc/net/unix).  Freed by the
 * caller; NULL: none. */
static uint64_t *listening(size_t *ret_count)
{
	enum { ACCEPTS = 0x10000 }; /* __SO_ACCEPTCON */
	FILE *file = fopen("/proc/net/unix", "re");
	uint64_t *inodes = NULL;
	size_t count = 0, capacity = 0, room = 0;
	char *line = NULL;

	while (file && getline(&line, &room, file) > 0) {
		unsigned long flags;
		uint64_t inode;
		if (sscanf(line, "%*s %*s %*s %lx %*s %*s %lu", &flags, &inode) != 2 ||
		    !(flags & ACCEPTS))
			continue;
		if (count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			uint64_t *grown = reallocarray(inodes, capacity, sizeof(*grown));
			if (!grown)
				break;
			inodes = grown;
		}
		inodes[count++] = inode;
	}
	free(line);
	if (file)
		(void)fclose(file);
	if (count)
		qsort(inodes, count, sizeof(*inodes), compare);
	*ret_count = count;
	return inodes;
}

static bool listens(uint32_t pid, const uint64_t *inodes, size_t count)
{
	char path[PROC_PATH_BYTES], entry_path[PROC_PATH_BYTES + 64], link[64];
	bool found = false;

	proc_path(pid, "fd", path);
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		uint64_t inode;
		(void)snprintf(entry_path, sizeof(entry_path), "%s/%.20s", path, entry->d_name);
		ssize_t length = readlink(entry_path, link, sizeof(link) - 1);
		if (length <= 0)
			continue;
		link[length] = '\0';
		found = sscanf(link, "socket:[%lu]", &inode) == 1 &&
			bsearch(&inode, inodes, count, sizeof(*inodes), compare);
	}
	if (directory)
		(void)closedir(directory);
	return found;
}

/* Does a process of this user run that agent? */
static bool is_agent(const struct segment *segment, uint32_t pid, const struct invocation *agent)
{
	char path[PROC_PATH_BYTES], text[WORDS_BYTES], executable[SEGMENT_PATH_BYTES];
	char *words[WORDS_MAX + 1];
	struct invocation invocation;
	struct stat stat;
	int count = 0;

	proc_path(pid, "cmdline", path);
	if (sys_stat(path, &stat) < 0 || stat.st_uid != geteuid())
		return false;
	ssize_t bytes = sys_read_file(path, text, sizeof(text));
	for (ssize_t at = 0; at < bytes && count < WORDS_MAX; at += (ssize_t)strlen(text + at) + 1)
		words[count++] = text + at;
	words[count] = NULL;
	proc_path(pid, "exe", path);
	ssize_t length = sys_readlink(path, executable, sizeof(executable) - 1);
	if (bytes <= 0 || length <= 0)
		return false;
	executable[length] = '\0';
	role_invocation(segment, executable, words, &invocation);
	return invocation.role == ROLE_AGENT && invocation.profile == agent->profile &&
	       (agent->profile || strcmp(invocation.name, agent->name) == 0);
}

pid_t elder_find(const struct segment *segment, const struct invocation *agent, uint64_t before_ns)
{
	size_t count = 0;
	uint64_t *inodes = listening(&count);
	DIR *directory = count ? opendir("/proc") : NULL;
	pid_t found = 0;

	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		uint64_t start_ns;
		if (pid && pid != (uint32_t)getpid() && is_agent(segment, pid, agent) &&
		    process_start(pid, &start_ns) && start_ns < before_ns &&
		    listens(pid, inodes, count))
			found = (pid_t)pid;
	}
	if (directory)
		(void)closedir(directory);
	free(inodes);
	return found;
}

const char *elder_without_daemon(const char *name)
{
	return strcmp(name, "codex") == 0 ? "codex --no-daemon" : NULL;
}

const char *elder_remedy(const char *name)
{
	return elder_without_daemon(name) ? "end it first, or say codex --no-daemon"
					  : "end it before the run";
}

const char *elder_describe(const struct segment *segment, uint64_t since_ns, char *ret_text)
{
	struct invocation agents[AGENTS_MAX];
	unsigned count = 0;
	size_t used = 0;

	ret_text[0] = '\0';
	for (uint64_t i = 0, slots = segment_processes_used(segment); i < slots; i++) {
		struct process_slot process;
		struct invocation agent = { .role = ROLE_AGENT };
		bool known = false;
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE ||
		    process.context.role != ROLE_AGENT || process.time_ns < since_ns)
			continue;
		agent.profile = process.context.profile;
		(void)snprintf(agent.name, sizeof(agent.name), "%s", process.name);
		for (unsigned k = 0; k < count; k++)
			known = known || strcmp(agents[k].name, agent.name) == 0;
		if (known || count == AGENTS_MAX)
			continue;
		agents[count++] = agent;
		pid_t pid = elder_find(segment, &agent, since_ns);
		char name[sizeof(agent.name) * 4];
		if (!pid || path_escape(agent.name, name, sizeof(name)) < 0 ||
		    used >= ELDER_TEXT_BYTES)
			continue;
		used += (size_t)snprintf(ret_text + used, ELDER_TEXT_BYTES - used,
					 "%s%s (pid %d) was running before this run: what is "
					 "handed to it is not observed; %s",
					 used ? "; " : "", name, (int)pid,
					 elder_remedy(agent.name));
	}
	return ret_text;
}
