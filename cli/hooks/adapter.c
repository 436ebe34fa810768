/* Adapters: see adapter.h. */
#include "cli/hooks/adapter.h"

#include <string.h>

static const struct hook_adapter *const ADAPTERS[] = {
#define HOOK_ADAPTER_ADDRESS(name) &hook_adapter_##name,
	HOOK_ADAPTERS(HOOK_ADAPTER_ADDRESS)
#undef HOOK_ADAPTER_ADDRESS
};

const struct hook_adapter *hook_adapter_find(const char *agent)
{
	for (size_t i = 0; i < sizeof(ADAPTERS) / sizeof(ADAPTERS[0]); i++)
		if (strcmp(ADAPTERS[i]->agent, agent) == 0)
			return ADAPTERS[i];
	return NULL;
}

const struct hook_tool *hook_tool_find(const struct hook_adapter *adapter, const char *name)
{
	for (const struct hook_tool *tool = adapter->tools; name && tool->name; tool++)
		if (strcmp(tool->name, name) == 0)
			return tool;
	return NULL;
}

enum hook_moment hook_event_moment(const struct hook_adapter *adapter, const char *name)
{
	for (const struct hook_event *event = adapter->events; name && event->name; event++)
		if (strcmp(event->name, name) == 0)
			return event->moment;
	return HOOK_OTHER;
}
