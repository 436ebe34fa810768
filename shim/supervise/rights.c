/* What a process may do to files: see rights.h. */
#include "shim/supervise/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/supervise/proc.h"
#include "tracker/sys/sys.h"

enum { STATUS_BYTES = 8192 };

/* The numbers of a line of `status`, at most `max`.  Returns how many there are; -1: no such line, or more. */
static int read_numbers(const char *status, const char *name, uint32_t *ret_numbers, int max)
{
	const char *at = strstr(status, name);
	char *end;
	int count = 0;

	if (!at)
		return -1;
	at += strlen(name);
	for (;; at = end) {
		at += strspn(at, " \t");
		unsigned long number = strtoul(at, &end, 10);
		if (end == at || *at == '\n')
			return count;
		if (count == max)
			return -1;
		ret_numbers[count++] = (uint32_t)number;
	}
}

int rights_read(pid_t tid, struct rights *ret_rights)
{
	char status[STATUS_BYTES];

	*ret_rights = (struct rights){ .capabilities = 0 };
	ssize_t length = proc_read(tid, "status", status, sizeof(status));
	if (length <= 0)
		return length < 0 ? (int)length : -ESRCH;
	int more = read_numbers(status, "\nGroups:", ret_rights->more, RIGHTS_GROUPS_MAX);
	const char *capabilities = strstr(status, "\nCapEff:");
	if (more < 0 || !capabilities ||
	    read_numbers(status, "\nUid:", ret_rights->users, 4) != 4 ||
	    read_numbers(status, "\nGid:", ret_rights->groups, 4) != 4)
		return -EINVAL;
	ret_rights->more_count = (unsigned)more;
	ret_rights->capabilities = strtoull(capabilities + sizeof("\nCapEff:") - 1, NULL, 16);
	return 0;
}

bool rights_have_same_numbers(const struct rights *a, const struct rights *b)
{
	return memcmp(a->users, b->users, sizeof(a->users)) == 0 &&
	       memcmp(a->groups, b->groups, sizeof(a->groups)) == 0 &&
	       a->more_count == b->more_count &&
	       memcmp(a->more, b->more, a->more_count * sizeof(a->more[0])) == 0;
}

bool rights_equal(const struct rights *a, const struct rights *b)
{
	return rights_have_same_numbers(a, b) && a->capabilities == b->capabilities;
}

/* Does a map of this user namespace have every number, as it is outside? */
static bool is_whole(const char *file)
{
	char map[256];
	uint32_t numbers[4];

	/* Behind a newline, as lines of `status` are. */
	map[0] = '\n';
	return sys_read_file(file, map + 1, sizeof(map) - 1) > 0 &&
	       read_numbers(map, "\n", numbers, 4) == 3 && numbers[0] == 0 && numbers[1] == 0 &&
	       numbers[2] == UINT32_MAX;
}

bool rights_numbers_are_all(void)
{
	return is_whole("/proc/self/uid_map") && is_whole("/proc/self/gid_map");
}

bool rights_share_user_namespace(pid_t pid)
{
	struct identity theirs = proc_file(pid, "ns/user");
	struct identity own = proc_file(getpid(), "ns/user");

	return own.ino && theirs.ino == own.ino;
}

bool rights_share_label(pid_t pid)
{
	char theirs[512], own[512];

	ssize_t length = proc_read(pid, "attr/current", theirs, sizeof(theirs));
	return proc_read(getpid(), "attr/current", own, sizeof(own)) == length &&
	       (length <= 0 || memcmp(own, theirs, (size_t)length) == 0);
}

bool rights_are_own(pid_t pid)
{
	struct rights theirs, own;

	if (rights_read(pid, &theirs) < 0 || rights_read(getpid(), &own) < 0 ||
	    !rights_equal(&theirs, &own))
		return false;
	/* In a user namespace below, capabilities hold for less; with none at all, that is no matter. */
	return (own.capabilities == 0 || rights_share_user_namespace(pid)) &&
	       rights_share_label(pid);
}
