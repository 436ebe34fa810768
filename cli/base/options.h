/*
 * The command line of a subcommand: options of its own, given as a table, and the configuration's
 * (--config, -c, --mode ...).  Options end at `--` or at the first word that is none.
 */
#ifndef SEEN_CLI_OPTIONS_H
#define SEEN_CLI_OPTIONS_H

#include <stdbool.h>

#include "config/config.h"

struct option_spec {
	const char *name;     /* "--json" */
	const char *argument; /* what its value is called in the help text; NULL: none */
	const char *help;     /* NULL: another name of the option before this one */
	bool *flag;           /* set to true; for options without a value */
	const char **value;   /* set to the value; for options with one */
};

struct options {
	const char *usage;   /* "status [OPTION...]" */
	const char *summary; /* for the help text: sentences, in one piece */
	const struct option_spec *specs;
	int spec_count;
	bool words_between; /* options may also follow words, up to `--` */
};

/* What options_parse() and options_load() leave. */
struct parsed {
	struct config_request request;
	struct config *config; /* options_load() */
	int first_word;        /* index into argv of the first word that is no option */
	/* set before options_load(): a program runs this, so a value that was let pass is not
	 * reported */
	bool is_silent;
};

/* options_parse(): reads a command line.  With words_between, words are moved behind the options.
 *
 * Returns 0 to go on; -1 when the command is done, with *ret_code the exit code: help was printed,
 * or one line says what is wrong.  parsed: all zero before, but for is_silent; options_done() it
 * afterwards in either case. */
int options_parse(const struct options *options, int argc, char **argv, struct parsed *parsed,
		  int *ret_code);

/* options_parse_alone(): the same for a command that takes no words: one is refused. */
int options_parse_alone(const struct options *options, int argc, char **argv, struct parsed *parsed,
			int *ret_code);

/* options_load(): loads the configuration that the line and the surroundings ask for.  As
 * options_parse(). */
int options_load(struct parsed *parsed, int *ret_code);

/* options_try(): the same; what is wrong is for the caller to say.  Returns 0 or a negative errno. */
int options_try(struct parsed *parsed, struct config_error *ret_error);

/* options_done(): frees what the above allocated. */
void options_done(struct parsed *parsed);

#endif
