/*
 * `seen config`: what is configured, and by what.
 */
#ifndef SEEN_CLI_CMD_CONFIG_H
#define SEEN_CLI_CMD_CONFIG_H

/* cmd_config(): seen config [--json | --docs] [--config FILE] [-c section.name=VALUE] [--FLAG X]
 *
 * argv[0] is the command's name, argc counts it.  Prints each effective value and its origin;
 * --json: the same as one document of schema seen/config/1; --docs: a complete, commented seen.ini,
 * for which nothing is read.  Returns the exit status: 0, or 125 for a bad configuration, bad usage
 * or output that could not be written, with one line on stderr.
 */
int cmd_config(int argc, char **argv);

#endif
