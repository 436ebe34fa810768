/* What a journal has of a session's runs for a statement: its facts (cli/journal/fact.h), and the
 * agents among its processes. */
#ifndef SEEN_CLI_RUN_FACTS_H
#define SEEN_CLI_RUN_FACTS_H

#include <jansson.h>

#include "cli/session/git_directory.h"

struct run_facts {
	/* "": not known */
	char commit_before[GIT_DIRECTORY_COMMIT_BYTES]; /* of the first run */
	char commit_after[GIT_DIRECTORY_COMMIT_BYTES];  /* of the last one that has ended */
	json_t *rules;    /* array: { name, action, text }, each rule once */
	json_t *statuses; /* array: of each run that has ended, in their order */
	json_t *agents;   /* array: { executable, script, version }, each once */
};

/* run_facts_read(): reads a journal.
 *
 * The version of an agent is that of the package that its file lies in by now.  Null: not known.
 * ret_facts: run_facts_free() in any case.  Returns 0; -ENOMEM; the errors of events_open(). */
int run_facts_read(const char *journal, struct run_facts *ret_facts);
void run_facts_free(struct run_facts *facts);

#endif
