/*
 * The commands that agents run as hooks of ours (cli/agents/hooks.h installs them), by their text.
 * What such a command prints goes to the agent, not to its model.
 */
#ifndef SEEN_TRACKER_HOOK_COMMAND_H
#define SEEN_TRACKER_HOOK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Every command of ours holds one of these, whatever the program's path before it; as shipped,
 * behind HOOK_COMMAND_PROGRAM. */
#define HOOK_COMMAND_FORGETS " forget --hook "
#define HOOK_COMMAND_ANSWERS " answer hook "
#define HOOK_COMMAND_PROGRAM "seen"

/* Before the program where any shell of the user's may run the command: fish reports a program that is not
 * there, and ends with 127, whatever stands behind it. */
#define HOOK_COMMAND_IF_THERE(program) "command -v " program " >/dev/null && "

/* hook_command_mark(): the first of these marks in a text.  Returns where it begins, and its length
 * in bytes; NULL: there is none. */
const char *hook_command_mark(const char *text, size_t *ret_length);

/* hook_command_is(): is that the command of a hook of ours?  Pure; async-signal-safe. */
bool hook_command_is(const char *command);

/* hook_command_among(): is one of the words of a program, NULL at their end, such a command? */
bool hook_command_among(char *const words[]);

#endif
