/* The formats of exports: see export.h. */
#include "cli/export/export.h"

#include <string.h>

const struct export_format *export_format_find(const char *name)
{
	static const struct export_format *const ALL[] = {
#define FORMAT(name) &export_##name,
		EXPORT_FORMATS(FORMAT)
#undef FORMAT
	};

	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		if (strcmp(ALL[i]->name, name) == 0)
			return ALL[i];
	return NULL;
}

const char *const *export_format_names(void)
{
	static const char *const NAMES[] = {
#define FORMAT(name) #name,
		EXPORT_FORMATS(FORMAT)
#undef FORMAT
			NULL,
	};
	return NAMES;
}
