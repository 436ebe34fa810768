/* Tool calls that wait for their results: see transcript_pending.h. */
#include "cli/replay/transcript_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pending_add(struct pending_calls *calls, uint64_t id, const char *name, const json_t *arguments,
		bool is_text)
{
	if (calls->count == calls->capacity) {
		size_t capacity = calls->capacity ? calls->capacity * 2 : 16;
		struct pending_call *grown = realloc(calls->calls, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		calls->calls = grown;
		calls->capacity = capacity;
	}
	struct pending_call call = { .id = id, .name = strdup(name), .is_text = is_text };
	if (!call.name)
		return -ENOMEM;
	if (arguments)
		call.arguments = json_incref((json_t *)(uintptr_t)arguments);
	calls->calls[calls->count++] = call;
	return 0;
}

bool pending_remove(struct pending_calls *calls, uint64_t id, struct pending_call *ret_call)
{
	for (size_t i = calls->count; i-- > 0;) {
		if (calls->calls[i].id != id)
			continue;
		*ret_call = calls->calls[i];
		calls->calls[i] = calls->calls[--calls->count];
		return true;
	}
	return false;
}

void pending_done(struct pending_call *call)
{
	free(call->name);
	json_decref(call->arguments);
}

void pending_free(struct pending_calls *calls)
{
	for (size_t i = 0; i < calls->count; i++)
		pending_done(&calls->calls[i]);
	free(calls->calls);
	*calls = (struct pending_calls){ .count = 0 };
}

bool pending_has(const struct pending_calls *calls, uint64_t id)
{
	for (size_t i = calls->count; i-- > 0;)
		if (calls->calls[i].id == id)
			return true;
	return false;
}

int id_set_add(struct id_set *set, uint64_t id)
{
	if (set->count * 2 >= set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 1024;
		uint64_t *grown = calloc(capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		for (size_t i = 0; i < set->capacity; i++) {
			size_t k = set->ids[i] % capacity;
			while (set->ids[i] && grown[k])
				k = (k + 1) % capacity;
			if (set->ids[i])
				grown[k] = set->ids[i];
		}
		free(set->ids);
		set->ids = grown;
		set->capacity = capacity;
	}
	size_t at = id % set->capacity;
	while (set->ids[at]) {
		if (set->ids[at] == id)
			return 0;
		at = (at + 1) % set->capacity;
	}
	set->ids[at] = id;
	set->count++;
	return 1;
}

void id_set_free(struct id_set *set)
{
	free(set->ids);
	*set = (struct id_set){ .ids = NULL };
}
