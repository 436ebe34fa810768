/* A learned policy, written: as rules, as a command line of bubblewrap, as a ruleset of Landlock. */
#ifndef SEEN_CLI_LEARN_LEARNED_PRINT_H
#define SEEN_CLI_LEARN_LEARNED_PRINT_H

#include <stdbool.h>

#include "cli/learn/learned.h"

/* learned_print_rules(): a seen.ini for --config.  complains: its rules refuse nothing.
 * learned_print_bwrap(): a script for sh, to which the command is given.
 * learned_print_landlock(): a JSON document, seen/landlock/1.
 *
 * learned: sorted.  On standard output.  Return 0 or -ENOMEM. */
int learned_print_rules(const struct learned *learned, bool complains);
int learned_print_bwrap(const struct learned *learned);
int learned_print_landlock(const struct learned *learned);

#endif
