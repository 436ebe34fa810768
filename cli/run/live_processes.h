/*
 * The session's processes that live, found in /proc: those in its table, all that descend from this
 * run, and those whose environment names the session.
 */
#ifndef SEEN_CLI_LIVE_PROCESSES_H
#define SEEN_CLI_LIVE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/session/session.h"

struct live_process {
	uint32_t pid, parent;
	bool is_own;       /* of the session */
	bool is_inspected; /* whether it is, was found out */
};

/* The processes of the machine at one moment, in the order of their numbers. */
struct live_processes {
	struct live_process *items;
	size_t count, capacity; /* items there, and for which there is room */
	uint32_t newest;        /* the number that the kernel had given last; 0: not known */
	uint64_t taken_ns;      /* boottime: when it was begun to inspect all */
	uint64_t took_ns;       /* to inspect them */
	pid_t leave_out;
};

/* live_processes_list(): inspects every process of the machine: one or a few milliseconds.
 *
 * leave_out: a child of this process that is none of the session, with all below it; 0: there is
 * none.  list: what was taken before, or all zero; free its items. */
void live_processes_list(const struct session *session, pid_t leave_out,
			 struct live_processes *list);

/* live_processes_renew(): the same, for who asks for file after file: of a list that was taken a moment ago the processes
 * stay, and those are added that began since, as the kernel's numbers tell.  One that has ended may still be there. */
void live_processes_renew(const struct session *session, pid_t leave_out,
			  struct live_processes *list);

/* live_process_each_mapping(): calls `visit` with the inode of each file that a process has mapped, shared and to write to
 * it.  Nothing of a process that cannot be inspected. */
void live_process_each_mapping(uint32_t pid, void (*visit)(void *data, uint64_t ino), void *data);

/* live_process_maps(): has a process mapped a file of that inode, shared and to write to it? */
bool live_process_maps(uint32_t pid, uint64_t ino);

#endif
