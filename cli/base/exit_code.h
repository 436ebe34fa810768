/*
 * Exit codes of every command, one table: EXIT(name, number, text).  `seen help exit` prints it,
 * and docs/seen.1 repeats it; a number never changes its meaning.
 */
#ifndef SEEN_CLI_EXIT_CODE_H
#define SEEN_CLI_EXIT_CODE_H

#define EXIT_CODES(EXIT) \
	EXIT(OK, 0, "done; `run`: the program's own status") \
	EXIT(NOTHING, 1, "nothing to show or to forget under that name") \
	EXIT(USAGE, 2, "a wrong option, argument or command") \
	EXIT(NO_SESSION, 3, "no such session, or none of this workspace") \
	EXIT(BAD_SESSION, 4, "the session is damaged, of another build, or of another user") \
	EXIT(UNOBSERVED, 5, "`doctor`: the program or this machine cannot be observed in full") \
	EXIT(OUTPUT, 6, "the output could not be written") \
	EXIT(TAMPERED, 7, "the journal is not what was sealed") \
	EXIT(PARTLY, 8, "part of it could not be done; a message names which") \
	EXIT(CHANGED, 9, "`check`: a file is not what it was taken for") \
	EXIT(DELETED, 10, "`check`: a file is gone, and the session did not remove it") \
	EXIT(UNTRACKED, 11, "`check`: there is nothing to hold a file against") \
	EXIT(CONFLICT, 12, "what is on disk would be lost, and was left") \
	EXIT(DIFFERS, 13, "what is on disk is another version") \
	EXIT(RULE, 14, "`run`: a rule was hit that fails it (action = fail, --fail-on=rule)") \
	EXIT(STALE, 15, "`run`: a write over a change that was not seen (--fail-on=stale)") \
	EXIT(INCOMPLETE, 16, "`run`: something was not observed (--fail-on=unobserved)") \
	EXIT(NO_TERMINAL, 17, "`top`: there is no terminal that it can draw on") \
	EXIT(FAILED, 125, "`run`: it failed, or a rule cannot hold; any: wrong configuration") \
	EXIT(NOT_EXECUTABLE, 126, "`run`: the program cannot be executed") \
	EXIT(NOT_FOUND, 127, "`run`: there is no such program")

enum exit_code {
#define EXIT(name, number, text) EXIT_CODE_##name = number,
	EXIT_CODES(EXIT)
#undef EXIT
};

#endif
