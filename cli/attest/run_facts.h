/* What a journal has of a session's runs for a statement: its facts (cli/journal/fact.h), and the
 * agents among its processes. */
#ifndef SEEN_CLI_RUN_FACTS_H
#define SEEN_CLI_RUN_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/session/git_directory.h"

struct run_status {
	uint64_t time_ns;
	long status;
};

struct run_facts {
	/* "": not known */
	char commit_before[GIT_DIRECTORY_COMMIT_BYTES]; /* of the first run */
	char commit_after[GIT_DIRECTORY_COMMIT_BYTES];  /* of the last one that has ended */
	json_t *rules; /* array: { name, action, text }, each rule once */
	json_t *runs; /* array: { command, command_cut, began }, in the order of their beginnings */
	struct run_status *statuses; /* in the order in which the runs ended */
	size_t status_count;
	bool records_reads; /* each run's journal has all accesses to the workspace */
	json_t *agents;     /* array: { executable, script, version }, each once */
};

/* run_facts_read(): reads a journal.
 *
 * The version of an agent is that of the package that its file lies in by now.  Null: not known.
 * ret_facts: run_facts_free() in any case.  Returns 0; -ENOMEM; the errors of events_open(). */
int run_facts_read(const char *journal, struct run_facts *ret_facts);
void run_facts_free(struct run_facts *facts);

#endif
