/*
 * Starting an agent by its launcher: a symbolic link to this program, called as the agent is, that
 * comes first on PATH.
 *
 * The agent is looked for on PATH at each start, past this program and past what started it: its own
 * update may put it elsewhere, and a version manager that searches PATH itself meets no circle.
 * Within a run the agent is started as it is.  Where this program is gone, the link leads nowhere,
 * and shells pass over it.
 */
#ifndef SEEN_CLI_LAUNCH_H
#define SEEN_CLI_LAUNCH_H

/* launch_name(): the agent whose launcher this process was started by; NULL: by none.  Static. */
const char *launch_name(void);

/* launch_words(): the words of the `run` that starts it.  Where it is not to be wrapped here, this
 * process becomes it.
 *
 * ret_words: ended by NULL, borrowed from a list that lives on; ret_count: how many.
 * Returns EXIT_CODE_OK or, with a message, another exit code. */
int launch_words(const char *name, int argc, char **argv, int *ret_count, char ***ret_words);

#endif
