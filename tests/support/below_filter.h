/*
 * A filter of system calls that a program makes instruction by instruction, and begins another program below (seccomp(2)).
 */
#ifndef SEEN_TESTS_BELOW_FILTER_H
#define SEEN_TESTS_BELOW_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

enum { FILTER_LENGTH_MAX = 256 };

static struct sock_filter code[FILTER_LENGTH_MAX];
static unsigned short length;

static inline void add(struct sock_filter instruction)
{
	CHECK(length < FILTER_LENGTH_MAX);
	code[length++] = instruction;
}

static inline void load(size_t offset)
{
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* What no instruction before answered is allowed.  One who may not administrate any more needs PR_SET_NO_NEW_PRIVS. */
static inline void install(void)
{
	struct sock_fprog program;

	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program = (struct sock_fprog){ length, code };
	if (geteuid() != 0)
		CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

#endif
