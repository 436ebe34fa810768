/* The other way: see other_way.h. */
#include "tracker/answer/other_way.h"

#include "tracker/answer/delivery.h"
#include "tracker/answer/line_range.h"

/* Beside the deliveries of the scope's commands: what the read tool gave. */
static uint64_t tool_key(uint64_t file_key)
{
	return file_key ^ 0x6c6f6f7464616572u;
}

static bool is_other(const struct segment *segment, uint64_t scope_id, uint64_t key,
		     const struct version *version, uint64_t since_ns)
{
	struct delivery_slot given;

	return delivery_find(segment, scope_id, key, &given) == 0 && given.time_ns > since_ns &&
	       !version_is_none(&given.version) && !version_equal(&given.version, version);
}

void other_way_note(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    const struct version *version)
{
	const struct moment moment = moment_now(segment, scope_id, 0, 0, 0);

	if (moment.scope_epoch)
		(void)delivery_record(segment, tool_key(file_key), version, &moment);
}

bool other_way_gave_other(const struct segment *segment, const struct request *request,
			  uint64_t file_key, const struct version *version, uint64_t since_ns)
{
	uint64_t scope_id = request->agent_scope_id;

	if (!request->is_in_process)
		return is_other(segment, request->context.scope_id, tool_key(file_key), version,
				since_ns);
	if (!scope_id)
		return false;
	const struct moment moment = moment_now(segment, scope_id, 0, 0, 0);
	return is_other(segment, scope_id, file_key, version, since_ns) ||
	       line_range_is_other(segment, file_key, &moment, version, since_ns);
}
