/* Sums of a replay: see replay_sums.h. */
#include "cli/replay/replay_sums.h"

#include <stddef.h>

static const char *const CATEGORY_NAMES[][2] = {
#define REPLAY_CATEGORY(constant, word, text) { word, text },
	REPLAY_CATEGORIES(REPLAY_CATEGORY)
#undef REPLAY_CATEGORY
};

static const char *const SETTING_NAMES[][2] = {
#define REPLAY_SETTING(constant, word, text) { word, text },
	REPLAY_SETTINGS(REPLAY_SETTING)
#undef REPLAY_SETTING
};

static const char *const HOOK_NAMES[][2] = {
#define REPLAY_HOOK(constant, word, text) { word, text },
	REPLAY_HOOKS(REPLAY_HOOK)
#undef REPLAY_HOOK
};

const char *replay_hook_name(enum replay_hook hook)
{
	return HOOK_NAMES[hook][0];
}

const char *replay_hook_text(enum replay_hook hook)
{
	return HOOK_NAMES[hook][1];
}

const char *replay_category_name(enum replay_category category)
{
	return CATEGORY_NAMES[category][0];
}

const char *replay_category_text(enum replay_category category)
{
	return CATEGORY_NAMES[category][1];
}

const char *replay_setting_name(enum replay_setting setting)
{
	return SETTING_NAMES[setting][0];
}

const char *replay_setting_text(enum replay_setting setting)
{
	return SETTING_NAMES[setting][1];
}

void replay_add(struct replay_sums *total, const struct replay_sums *sums)
{
	uint64_t *to = (uint64_t *)(void *)total;
	const uint64_t *from = (const uint64_t *)(const void *)sums;

	_Static_assert(sizeof(*sums) % sizeof(uint64_t) == 0, "numbers alone");
	for (size_t i = 0; i < sizeof(*sums) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

void replay_add_since(struct replay_sums *total, const struct replay_sums *sums,
		      const struct replay_sums *before)
{
	uint64_t *to = (uint64_t *)(void *)total;
	const uint64_t *now = (const uint64_t *)(const void *)sums;
	const uint64_t *then = (const uint64_t *)(const void *)before;

	for (size_t i = 0; i < sizeof(*sums) / sizeof(uint64_t); i++)
		to[i] += now[i] - then[i];
}
