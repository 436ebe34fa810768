/*
 * posix_spawn for a program that becomes supervised: libc's own gives no place between its child's
 * last preparation and exec.
 */
#ifndef SEEN_SHIM_SPAWN_H
#define SEEN_SHIM_SPAWN_H

#include <spawn.h>
#include <stdbool.h>

#include "shim/preload/launch.h"

/* spawn_can_do(): are the attributes and actions of such a kind that they are done here as libc does
 * them?  Not those of scheduling, control groups, and what a later libc adds. */
bool spawn_can_do(const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes);

/* spawn_program(): posix_spawn(3) of an announced program, and posix_spawnp(3) where launch->place
 * searches; spawn_can_do().
 *
 * The child asks to be supervised before its exec.  Returns what these functions return; -1 where
 * there is no memory for the child's stack: nothing was done. */
int spawn_program(const struct launch *launch, pid_t *ret_pid,
		  const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		  char *const argv[], char *const environment[]);

#endif
