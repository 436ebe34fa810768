/*
 * The run that this one is started in: its supervisor observes what this one starts, and its session's
 * rules hold there.
 */
#ifndef SEEN_CLI_ABOVE_H
#define SEEN_CLI_ABOVE_H

#include <stdbool.h>

#include "config/config.h"

/* above_denies(): does a supervisor of a run above, that of $SEEN_SESSION, keep from programs all that the
 * rules of a config deny?  It has the same rules then, of the same workspace. */
bool above_denies(const struct config *config);

/* above_is_confined(): is this process in a confined run?  By the command lines of its ancestors: false where /proc does
 * not show them. */
bool above_is_confined(void);

#endif
