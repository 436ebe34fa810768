/*
 * Messages to a person: one line on standard error, "seen: ..." before it.
 */
#ifndef SEEN_CLI_MESSAGE_H
#define SEEN_CLI_MESSAGE_H

/* message(): prints a line; control characters of what is shown are escaped. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* message_exit_code(): after everything was printed: EXIT_CODE_OUTPUT with a message when standard
 * output could not take it (a full disk, a closed pipe), else `code`. */
int message_exit_code(int code);

#endif
