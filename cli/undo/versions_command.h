/* What `seen versions`, `seen diff` and `seen restore` share: finding the versions that they are
 * about. */
#ifndef SEEN_CLI_VERSIONS_COMMAND_H
#define SEEN_CLI_VERSIONS_COMMAND_H

#include "cli/session/session_command.h"
#include "cli/undo/versions.h"
#include "tracker/segment/segment.h"

/* versions_command(): session_command() for a command about what is kept.  command->act: not used.
 * act: session: its segment.header may be NULL (versions_find()). */
int versions_command(const struct session_command *command,
		     int (*act)(const struct session *session, struct versions *versions,
				char **words),
		     int argc, char **argv);

/* versions_named(): the version of a file that a person means by words: `[PATH] VERSION`.
 *
 * words: one or two, ended by NULL.  ret_path: SEGMENT_PATH_BYTES.  Says on stderr what is wrong,
 * and returns an exit code: EXIT_CODE_OK, the path and the row, borrowed from the versions; or
 * another. */
int versions_named(const struct versions *versions, char **words, char *ret_path,
		   const struct versions_row **ret_row);

#endif
