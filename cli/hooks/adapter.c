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
