/* What a reader's command is: all that its output hangs on, but for the files that it reads. */
#ifndef SEEN_FOLLOW_READER_IDENTITY_H
#define SEEN_FOLLOW_READER_IDENTITY_H

#include <stdbool.h>

#include "tracker/content/version.h"
#include "tracker/process/search_order.h"

/* reader_identify(): a number for the program, its words and place, the variables that change what
 * readers print, and what stands behind its standard descriptors.  The words are those of the
 * command's normal form, where it has one.  False where that is not known.
 * name: of the program, which this process runs. */
bool reader_identify(const char *executable, const char *name, char *const argv[],
		     char *const environment[], struct version *ret_identity);

/* reader_order(): in which order does the command print, as far as that hangs on its threads?  No word
 * of a search may lead through a link: where that leads is not inspected. */
enum search_order reader_order(const char *name, char *const argv[], char *const environment[]);

/* reader_is_never(): is the command one of [requests] never?  One that is too long to tell is.
 * name: of the program. */
bool reader_is_never(const char *name, char *const argv[]);

#endif
