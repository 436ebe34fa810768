/* What plugins of ours take: see plugin_output.h. */
#include "cli/hooks/plugin_output.h"

#include "cli/base/text.h"

json_t *plugin_output_replace(const struct hook_input *input, const struct hook_text *text)
{
	(void)input;
	return json_pack("{s:s%}", "output", text->bytes, text->length);
}

json_t *plugin_output_refuse(const struct hook_input *input, const char *reason)
{
	(void)input;
	return json_pack("{s:o}", "refuse", text_json(reason));
}

json_t *plugin_output_add(const struct hook_input *input, const char *text)
{
	(void)input;
	return json_pack("{s:o}", "add", text_json(text));
}
