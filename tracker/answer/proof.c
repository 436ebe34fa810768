/* Proofs: see proof.h. */
#include "tracker/answer/proof.h"

#include <errno.h>

#include "tracker/answer/delivery.h"
#include "tracker/content/file.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"

int proof_command(const struct segment *segment, uint64_t command_id, enum proof proof)
{
	return command_prove(segment, command_id, proof);
}

enum proof proof_of_command(const struct segment *segment, uint64_t command_id)
{
	return command_proof(segment, command_id);
}

int proof_scope(const struct segment *segment, uint64_t scope_id, uint32_t flags)
{
	return scope_set_flags(segment, scope_id, SCOPE_PROVES | SCOPE_MUTE, flags);
}

uint32_t proof_scope_flags(const struct segment *segment, uint64_t scope_id)
{
	return scope_flags(segment, scope_id);
}

/* One walk over the tables. */
struct walk {
	const struct segment *segment;
	uint64_t scope_id; /* 0: all */
	int (*callback)(const struct proof_delivery *delivery, void *data);
	void *data;
	char path[SEGMENT_PATH_BYTES];
};

/* Does what was given in these epochs belong to the walk, and still to its scope? */
static bool belongs(const struct walk *walk, uint64_t scope_id, uint64_t session_epoch,
		    uint64_t epoch)
{
	const struct segment_header *header = walk->segment->header;

	return (!walk->scope_id || scope_id == walk->scope_id) && epoch &&
	       session_epoch == __atomic_load_n(&header->epoch, __ATOMIC_ACQUIRE) &&
	       epoch == scope_epoch(walk->segment, scope_id);
}

/* Completes what was found and calls back. */
static int report(struct walk *walk, struct proof_delivery *delivery)
{
	const struct segment *segment = walk->segment;
	struct file_slot file;

	if (!delivery->command_id || delivery->command_id == DELIVERY_UNCUT ||
	    !command_bytes(segment, delivery->command_id, &delivery->command_bytes))
		return 0;
	delivery->proof = command_proof(segment, delivery->command_id);
	if (delivery->file_key && file_find(segment, delivery->file_key, &file) == 0 &&
	    file_path(segment, &file, walk->path, sizeof(walk->path)) > 0)
		delivery->path = walk->path;
	return walk->callback(delivery, walk->data);
}

static int report_file(struct walk *walk, const void *slot)
{
	const struct delivery_slot *given = slot;

	if (!belongs(walk, given->scope_id, given->session_epoch, given->scope_epoch))
		return 0;
	return report(walk, &(struct proof_delivery){ .kind = PROOF_OF_FILE,
						      .scope_id = given->scope_id,
						      .command_id = given->command_id,
						      .request = given->request,
						      .time_ns = given->time_ns,
						      .file_key = given->file_key,
						      .version = given->version });
}

static int report_lines(struct walk *walk, const void *slot)
{
	const struct line_range_slot *given = slot;
	int ret = 0;

	if (!given->line_count ||
	    !belongs(walk, given->scope_id, given->session_epoch, given->scope_epoch))
		return 0;
	for (int i = 0; ret == 0 && i < LINE_RANGES_MAX; i++) {
		const struct line_range *part = &given->parts[i];
		if (part->first)
			ret = report(walk, &(struct proof_delivery){ .kind = PROOF_OF_LINES,
								     .scope_id = given->scope_id,
								     .command_id = part->command_id,
								     .request = part->request,
								     .time_ns = part->time_ns,
								     .file_key = given->file_key,
								     .version = given->version,
								     .first_line = part->first,
								     .last_line = part->last });
	}
	return ret;
}

static int report_request(struct walk *walk, const void *slot)
{
	const struct remembered_slot *given = slot;

	if (!belongs(walk, given->scope_id, given->session_epoch, given->scope_epoch))
		return 0;
	return report(walk, &(struct proof_delivery){ .kind = PROOF_OF_REQUEST,
						      .scope_id = given->scope_id,
						      .command_id = given->command_id,
						      .request = given->request,
						      .time_ns = given->time_ns,
						      .version = given->inputs,
						      .output_bytes = given->output_bytes });
}

static int report_instruction(struct walk *walk, const void *slot)
{
	const struct instruction_slot *given = slot;

	if (!belongs(walk, given->scope_id, given->session_epoch, given->scope_epoch))
		return 0;
	return report(walk,
		      &(struct proof_delivery){
			      .kind = PROOF_OF_INSTRUCTION,
			      .scope_id = given->scope_id,
			      .command_id = given->command_id,
			      .time_ns = given->time_ns,
			      .file_key = file_by_inode(walk->segment, given->dev, given->ino),
			      .version = given->version,
		      });
}

int proof_each_delivery(const struct segment *segment, uint64_t scope_id,
			int (*callback)(const struct proof_delivery *delivery, void *data),
			void *data)
{
	static const struct {
		enum segment_table table;
		size_t slot_bytes;
		int (*report)(struct walk *walk, const void *slot);
	} TABLES[] = {
		{ TABLE_DELIVERIES, sizeof(struct delivery_slot), report_file },
		{ TABLE_LINE_RANGES, sizeof(struct line_range_slot), report_lines },
		{ TABLE_REMEMBERED, sizeof(struct remembered_slot), report_request },
		{ TABLE_INSTRUCTIONS, sizeof(struct instruction_slot), report_instruction },
	};
	union {
		struct delivery_slot delivery;
		struct line_range_slot part;
		struct remembered_slot remembered;
		struct instruction_slot instruction;
	} copy;
	struct walk walk = {
		.segment = segment, .scope_id = scope_id, .callback = callback, .data = data
	};

	for (size_t table = 0; table < sizeof(TABLES) / sizeof(TABLES[0]); table++) {
		SEGMENT_EACH_USED (segment, TABLES[table].table, i) {
			/* Slots of pairs begin with head and scope: an empty one is not copied. */
			const uint64_t *slot = segment_slot(segment, TABLES[table].table, i);
			if (!__atomic_load_n(&slot[1], __ATOMIC_RELAXED) ||
			    !slot_read(slot, &copy, TABLES[table].slot_bytes))
				continue;
			int stop = TABLES[table].report(&walk, &copy);
			if (stop)
				return stop;
		}
	}
	return 0;
}
