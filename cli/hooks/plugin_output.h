/*
 * The document that plugins of ours take (config/data/hooks): {"output": text} in place of a tool's
 * output, {"refuse": reason}, {"add": text}.
 */
#ifndef SEEN_CLI_HOOKS_PLUGIN_OUTPUT_H
#define SEEN_CLI_HOOKS_PLUGIN_OUTPUT_H

#include "cli/hooks/adapter.h"

/* For an adapter's replace(), refuse() and add(). */
json_t *plugin_output_replace(const struct hook_input *input, const struct hook_text *text);
json_t *plugin_output_refuse(const struct hook_input *input, const char *reason);
json_t *plugin_output_add(const struct hook_input *input, const char *text);

#endif
