/*
 * The help texts of the program: `seen help COMMAND`, from the command's own table of options, and
 * `seen help options`, from config/options.def.
 *
 * No line is wider than COLUMNS says, else the terminal, else 80 columns.
 */
#ifndef SEEN_CLI_HELP_H
#define SEEN_CLI_HELP_H

#include <stddef.h>
#include <stdio.h>

#include "cli/base/options.h"

/* A line of a list. */
struct help_entry {
	const char *name;
	const char *summary;
};

/* help_list(): prints the entries, in two columns where the lines are wide enough. */
void help_list(FILE *file, const struct help_entry *entries, size_t count);

/* help_command(): prints the help of one command on standard output: usage, summary, its own
 * options, and where the options of configuration are. */
void help_command(const struct options *options);

/* help_divert(): from now on help_command() hands the table to `receive`, and prints nothing; NULL:
 * it prints again. */
void help_divert(void (*receive)(const struct options *options));

/* help_options(): prints the options of configuration, which every command takes. */
void help_options(void);

/* What --utc does. */
#define HELP_UTC "times are UTC, not of the time zone; in JSON they always are"

#endif
