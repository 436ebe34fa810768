/* Scopes for people: see scopes.h. */
#include "cli/session/scopes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/ancestry.h"
#include "tracker/content/baseline.h"
#include "tracker/process/scope.h"
#include "tracker/segment/tables.h"

static bool read_scope(const struct scope_slot *slot, struct scope_row *ret_view)
{
	struct scope_slot copy;

	if (!__atomic_load_n(&slot->id, __ATOMIC_RELAXED) ||
	    !slot_read(slot, &copy, SCOPE_CHECKED_BYTES) || !copy.id)
		return false;
	struct scope_counts counts = scope_counts(slot, &copy);
	*ret_view = (struct scope_row){
		.id = copy.id,
		.pid = copy.anchor_pid,
		.requests = counts.requests,
		.bytes_given = counts.bytes_given,
		.created_realtime_ns = copy.created_realtime_ns,
	};
	memcpy(ret_view->name, copy.name, sizeof(copy.name));
	ret_view->name[sizeof(ret_view->name) - 1] = '\0';
	(void)snprintf(ret_view->id_text, sizeof(ret_view->id_text), "%016" PRIx64, copy.id);
	return true;
}

static int by_age(const void *a, const void *b)
{
	const struct scope_row *left = a, *right = b;
	return (left->created_realtime_ns > right->created_realtime_ns) -
	       (left->created_realtime_ns < right->created_realtime_ns);
}

int scopes_list(const struct segment *segment, struct scope_row **ret_scopes)
{
	int count = 0;
	struct scope_row *scopes = malloc(segment->capacity[TABLE_SCOPES] * sizeof(*scopes));

	if (!scopes)
		return -ENOMEM;
	SEGMENT_EACH_USED (segment, TABLE_SCOPES, i)
		count += read_scope(segment_slot(segment, TABLE_SCOPES, i), &scopes[count]);
	qsort(scopes, (size_t)count, sizeof(*scopes), by_age);
	*ret_scopes = scopes;
	return count;
}

int scopes_choose(const struct segment *segment, const char *text, uint64_t *ret_id)
{
	struct scope_row *scopes = NULL;
	int count = scopes_list(segment, &scopes), named = 0, code = EXIT_CODE_OK;
	uint64_t id = 0;

	if (count < 0) {
		message("out of memory");
		return EXIT_CODE_NOTHING;
	}
	for (int i = 0; i < count && !id; i++)
		if (strcmp(scopes[i].id_text, text) == 0)
			id = scopes[i].id;
	for (int i = 0; i < count && !id; i++)
		named += strcmp(scopes[i].name, text) == 0;
	for (int i = 0; i < count && named == 1; i++)
		if (strcmp(scopes[i].name, text) == 0)
			id = scopes[i].id;
	free(scopes);
	if (id) {
		*ret_id = id;
	} else if (named > 1) {
		message("%d scopes are called %s: give one's id, as `seen status` shows it", named,
			text);
		code = EXIT_CODE_USAGE;
	} else {
		message("there is no scope %s in this session; `seen status` lists them", text);
		code = EXIT_CODE_NOTHING;
	}
	return code;
}

uint64_t scopes_default(const struct segment *segment, const struct context *context)
{
	const char *name = getenv("SEEN_SCOPE");
	uint64_t id = 0;

	name = name && *name ? name : NULL;
	if (ancestry_scope(segment, &id))
		return id;
	id = context->scope_id;
	if (!id && !name)
		id = baseline_only_scope(segment);
	if (id && scope_find(segment, id))
		return id;
	if (!id)
		id = scope_id_of(0, name);
	return scope_claim(segment, id, context, context->anchor_pid, context->profile,
			   name ? name : "session")
		       ? id
		       : 0;
}
