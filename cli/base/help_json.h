/*
 * The tables that `seen help` prints, as one JSON document (seen/help/1): manual pages and
 * completions are made of it (packaging/).
 */
#ifndef SEEN_CLI_HELP_JSON_H
#define SEEN_CLI_HELP_JSON_H

#include <jansson.h>

#include "cli/base/options.h"

/* help_json_command(): a command and its own options; NULL when out of memory. */
json_t *help_json_command(const char *name, const char *summary, const struct options *options);

/* help_json_print(): prints the document, with the options that every command has.  Takes the
 * reference of `commands`.  Returns an exit code. */
int help_json_print(const char *version, json_t *commands);

#endif
