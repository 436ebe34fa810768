/*
 * Which file a descriptor or an executable is.
 *
 * All functions are pure and async-signal-safe.
 */
#ifndef SEEN_TRACKER_IDENTITY_H
#define SEEN_TRACKER_IDENTITY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/segment/tables.h"

struct identity identity_of(const struct stat *stat);
bool identity_equal(const struct identity *a, const struct identity *b);

#endif
