/* Coverage, as the member `processes` of `seen status --json` and `coverage` of `seen doctor --json`. */
#ifndef SEEN_CLI_COVERAGE_JSON_H
#define SEEN_CLI_COVERAGE_JSON_H

#include <jansson.h>

#include "cli/session/coverage.h"

/* coverage_json(): a new object. */
json_t *coverage_json(const struct coverage *coverage);

#endif
