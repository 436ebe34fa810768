/* The undo records of a session in memory: see tree_record.h. */
#include "cli/undo/tree_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/undo/operation.h"
#include "cli/undo/tree_linked.h"
#include "cli/undo/tree_memory.h"

static struct tree_record *add(struct tree_records *records)
{
	/* doubled whenever the count is a power of two */
	if ((records->count & (records->count - 1)) == 0) {
		size_t capacity = records->count ? 2 * records->count : 1;
		struct tree_record *grown = reallocarray(records->records, capacity,
							 sizeof(*grown));
		if (!grown)
			return NULL;
		records->records = grown;
	}
	return &records->records[records->count++];
}

/* Texts repeat: a rename's new name is the next record's, a file's AFTER follows its CONTENT. */
static const char *text(struct tree_records *records, const char *bytes, const char *last)
{
	if (!bytes[0])
		return "";
	if (last && strcmp(last, bytes) == 0)
		return last;
	return tree_memory_text(records->memory, bytes, strlen(bytes));
}

static int append(struct tree_records *records, const struct pack_entry *entry, uint32_t operation)
{
	const char *last = records->count ? records->records[records->count - 1].path : NULL;
	const struct pack_record *from = &entry->record;
	const char *path = text(records, entry->path, last);
	const char *other = text(records, entry->other, last);
	struct tree_record *record = path && other ? add(records) : NULL;

	if (!record)
		return -ENOMEM;
	*record = (struct tree_record){
		.place = from->place,
		.time_ns = from->time_realtime_ns,
		.boundary = from->boundary,
		.amount = from->amount,
		.path = path,
		.other = other,
		.before = from->before,
		.version = from->version,
		.process = from->process,
		.pid = from->pid,
		.operation = operation,
		.flags = from->flags,
		.kind = from->kind,
		.held = from->held,
		.reason = from->reason,
		.what = from->what,
		.linked_mtime_ns = from->before.mtime_ns,
		.failed = from->result == PACK_FAILED,
	};
	return 0;
}

static bool holds(const struct pack_record *record)
{
	return record->held == PACK_INLINE || record->held == PACK_LINK ||
	       record->held == PACK_REFLINK || record->held == PACK_COPY;
}

/* Reads records of one pack, up to the place `before`; *from_next: one was read too far. */
struct cursor {
	struct pack_reader *reader;
	struct pack_entry entry;
	bool has_entry;
};

/* Was it put on record when an undo had read what there was, which began at `since_ns`?  It tells how a file was left
 * before. */
static bool is_late(const struct pack_record *record, uint64_t since_ns)
{
	return record->kind == PACK_AFTER && record->before.ctime_ns < (int64_t)since_ns;
}

static int append_until(struct tree_records *records, struct cursor *cursor, uint64_t before,
			uint64_t since_ns, uint32_t operation)
{
	for (;;) {
		if (!cursor->has_entry) {
			int got = pack_reader_next(cursor->reader, &cursor->entry);
			if (got <= 0)
				return got;
			cursor->has_entry = true;
		}
		if (cursor->entry.record.place >= before &&
		    !is_late(&cursor->entry.record, since_ns))
			return 0;
		cursor->has_entry = false;
		records->not_kept += !operation && pack_is_loss(&cursor->entry.record);
		if (cursor->entry.record.result == PACK_FAILED && !holds(&cursor->entry.record))
			continue;
		int error = append(records, &cursor->entry, operation);
		if (error < 0)
			return error;
	}
}

static int append_operation(struct tree_records *records, const char *directory, uint32_t number,
			    struct tree_packs *packs)
{
	char name[OPERATION_NAME_BYTES], path[PACK_PATH_BYTES_MAX + 1 + OPERATION_NAME_BYTES];

	operation_name(number, name);
	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	int error = pack_reader_open(path, &packs->reader);
	if (error < 0)
		return error;
	packs->operation = number;
	records->pack_count++;
	struct cursor cursor = { .reader = &packs->reader };
	error = append_until(records, &cursor, UINT64_MAX, 0, number);
	records->damaged += packs->reader.damaged;
	if (packs->reader.damaged)
		records->damaged_operation = number;
	return error;
}

static int read_all(struct tree_records *records, const char *directory)
{
	struct operation_head *heads = NULL;
	size_t count = 0;
	struct pack_reader first;
	int error = pack_reader_open(directory, &first);

	if (error < 0)
		return error;
	if (first.directory >= 0)
		error = operation_heads(first.directory, &heads, &count, NULL);
	if (error == 0)
		records->packs = calloc(count + 1, sizeof(*records->packs));
	if (!records->packs) {
		pack_reader_close(&first);
		free(heads);
		return error ? error : -ENOMEM;
	}
	records->packs[0].reader = first;
	records->pack_count = 1;
	struct cursor cursor = { .reader = &records->packs[0].reader };
	for (size_t i = 0; i < count && error == 0; i++) {
		error = append_until(records, &cursor, heads[i].behind_place, heads[i].time_ns, 0);
		if (error == 0)
			error = append_operation(records, directory, heads[i].number,
						 &records->packs[records->pack_count]);
	}
	free(heads);
	if (error == 0)
		error = append_until(records, &cursor, UINT64_MAX, 0, 0);
	records->damaged += records->packs[0].reader.damaged;
	records->damaged_place = records->packs[0].reader.damaged_place;
	records->dropped_parts = records->packs[0].reader.dropped_parts;
	records->next_place = records->packs[0].reader.next_place;
	return error;
}

int tree_records_read(const char *directory, struct tree_records *ret_records)
{
	*ret_records = (struct tree_records){ .memory = tree_memory_new() };
	int error = ret_records->memory ? read_all(ret_records, directory) : -ENOMEM;
	return error ? error : tree_linked_follow(ret_records);
}

void tree_records_close(struct tree_records *records)
{
	for (size_t i = 0; i < records->pack_count; i++)
		pack_reader_close(&records->packs[i].reader);
	free(records->packs);
	free(records->records);
	tree_memory_free(records->memory);
	*records = (struct tree_records){ .count = 0 };
}

int tree_record_open(const struct tree_records *records, const struct tree_record *record)
{
	if (record->linked_content)
		return tree_record_open(records, record->linked_content);
	struct pack_record form = {
		.place = record->place,
		.kind = record->kind,
		.held = record->held,
		.before = record->before,
		.version = record->version,
	};

	if (record->held == PACK_LINK)
		form.before.mtime_ns = record->linked_mtime_ns;
	for (size_t i = 0; i < records->pack_count; i++)
		if (records->packs[i].operation == record->operation)
			return pack_content_open(&records->packs[i].reader, &form);
	return -ENOENT;
}
