/*
 * `seen diff` of a version that is kept: against what is on disk.
 */
#ifndef SEEN_CLI_DIFF_VERSION_H
#define SEEN_CLI_DIFF_VERSION_H

#include <stdbool.h>

#include "cli/session/session.h"
#include "cli/undo/patch.h"
#include "cli/undo/versions.h"

struct diff_version_request {
	char **words;      /* [PATH] VERSION; is_given: PATH.  Ended by NULL */
	bool is_given;     /* the version that an agent was given last, else the one kept last */
	const char *scope; /* is_given: what this scope was given last; NULL: any */
	const struct patch_style *style;
};

/* diff_version(): writes a patch from the version to what is on disk, on standard output.
 *
 * session: its segment.header may be NULL.  Says on stderr what is wrong, and which version was
 * chosen where none was named.  Returns an exit code: OK where they are the same, DIFFERS, or
 * another. */
int diff_version(const struct session *session, const struct versions *versions,
		 const struct diff_version_request *request);

#endif
