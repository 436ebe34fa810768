/*
 * What an assignment may be: of which source, and which value.
 */
#ifndef SEEN_CONFIG_CHECK_H
#define SEEN_CONFIG_CHECK_H

#include "config/config.h"
#include "config/option.h"

struct config_mark;

/* One assignment on its way through the checks; all borrowed. */
struct assignment {
	const struct option *option;
	const struct config_value *now;
	const char *section; /* as written: "agent pi" */
	const char *value;
	const struct config_source *source;
	const struct config *config;
	char text[24]; /* of a value that stands for what was written */
};

/* check_parse_number(): digits alone.  Returns false for anything else, and what no uint64_t holds. */
bool check_parse_number(const char *text, uint64_t *ret_number);

/* check_source(): may this source set that option, at this place of its file?  mark: of the option.
 * Returns 0 or -EINVAL; ret_error says why. */
int check_source(const struct assignment *a, const struct config_mark *mark,
		 struct config_error *ret_error);

/* check_and_assign(): puts the value, where the option takes it, into `value`.  Returns 0, -EINVAL
 * or -ENOMEM; ret_error says why, and `value` is as before. */
int check_and_assign(const struct assignment *a, struct config_value *value,
		     struct config_error *ret_error);

#endif
