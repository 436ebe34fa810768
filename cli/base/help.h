/*
 * The help texts of the program: `seen help COMMAND`, from the command's own table of options, and
 * `seen help options`, from config/options.def.
 *
 * No line is wider than COLUMNS says, else the terminal, else 80 columns.
 */
#ifndef SEEN_CLI_HELP_H
#define SEEN_CLI_HELP_H

#include "cli/base/options.h"

/* help_command(): prints the help of one command on standard output: usage, summary, its own
 * options, and where the options of configuration are. */
void help_command(const struct options *options);

/* help_options(): prints the options of configuration, which every command takes. */
void help_options(void);

#endif
