/* Baselines: see baseline.h. */
#include "tracker/content/baseline.h"

#include <limits.h>
#include <string.h>

#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/scope.h"
#include "tracker/segment/pair.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static const struct pair_table BASELINES = {
	.table = TABLE_BASELINES,
	.slot_bytes = sizeof(struct baseline_slot),
	.time_offset = offsetof(struct baseline_slot, last_ns),
	.attempts = 16,
	.counts_displaced = true, /* the guard knows nothing of that file any more */
	.displaced = COUNTER_lost_baselines,
};

static const struct version NO_VERSION;

uint64_t baseline_scope(const struct context *context, const char *scope_name)
{
	if (context->flags & CONTEXT_FORK)
		scope_name = NULL;
	else if (context->scope_id)
		return context->scope_id;
	if (!(context->flags & CONTEXT_AGENT) || !context->agent_serial)
		return 0;
	return scope_id_of(context->agent_serial, scope_name);
}

static uint64_t burst_ns(const struct segment *segment)
{
	return segment->settings->notice_burst_ms * 1000000u;
}

/* What a slot says at a moment, to a program that its agent started at began_ns (0: to the agent itself).  What the agent
 * read since counts as it does to the agent: the program stays, or it would not wait for that. */
static const struct version *known_to(const struct segment *segment,
				      const struct baseline_slot *slot, uint64_t now_ns,
				      uint64_t began_ns)
{
	uint64_t until_ns = began_ns >= slot->last_ns ? began_ns : now_ns;

	if (slot->recent_ns && until_ns - slot->recent_ns > burst_ns(segment))
		return &slot->recent;
	return slot->known_ns ? &slot->known : NULL;
}

static const struct version *known_at(const struct segment *segment,
				      const struct baseline_slot *slot, uint64_t now_ns)
{
	return known_to(segment, slot, now_ns, 0);
}

/* Two bits of the filter, by word and mask. */
static void bits_of(const struct segment *segment, const char *path, unsigned ret_words[2],
		    uint64_t ret_masks[2])
{
	uint64_t hash = path_key(segment, path_base(path));
	for (int i = 0; i < 2; i++, hash >>= 16) {
		unsigned bit = hash % (SEGMENT_NAME_WORDS * 64);
		ret_words[i] = bit / 64;
		ret_masks[i] = UINT64_C(1) << bit % 64;
	}
}

bool baseline_knows_name(const struct segment *segment, const char *path)
{
	uint64_t masks[2];
	unsigned words[2];
	bool known = true;

	bits_of(segment, path, words, masks);
	for (int i = 0; i < 2; i++)
		known = known &&
			(__atomic_load_n(&segment->header->names[words[i]], __ATOMIC_ACQUIRE) &
			 masks[i]);
	return known;
}

bool baseline_knows_any(const struct segment *segment)
{
	for (int i = 0; i < SEGMENT_NAME_WORDS; i++)
		if (__atomic_load_n(&segment->header->names[i], __ATOMIC_RELAXED))
			return true;
	return false;
}

void baseline_add_name(const struct segment *segment, const char *path)
{
	uint64_t masks[2];
	unsigned words[2];

	bits_of(segment, path, words, masks);
	for (int i = 0; i < 2; i++)
		(void)__atomic_fetch_or(&segment->header->names[words[i]], masks[i],
					__ATOMIC_RELEASE);
}

static void note_name(const struct segment *segment, const struct file_slot *file)
{
	const char *path = arena_at(segment, file->path_offset, file->path_bytes);
	char name[NAME_MAX + 1];
	size_t length = 0;

	while (path && length < file->path_bytes && path[file->path_bytes - length - 1] != '/')
		length++;
	if (!length || length >= sizeof(name))
		return;
	memcpy(name, path + file->path_bytes - length, length);
	name[length] = '\0';
	baseline_add_name(segment, name);
}

static void has_baseline(struct file_slot *file, const void *data)
{
	(void)data;
	file->flags |= FILE_HAS_BASELINE;
}

/* Takes the slot of a pair for a change, made where `make` says so. */
static struct baseline_slot *hold(const struct segment *segment, uint64_t scope_id,
				  uint64_t file_key, bool make, struct baseline_slot *ret_copy)
{
	struct baseline_slot *slot = pair_hold(segment, &BASELINES, scope_id, file_key, make,
					       ret_copy);

	if (!slot && make && scope_id && file_key)
		segment_count(segment, COUNTER_lost_baselines, 1);
	return slot;
}

static void commit(const struct segment *segment, struct baseline_slot *slot,
		   struct baseline_slot *copy, uint64_t now_ns)
{
	struct file_slot file;
	uint64_t key = copy->file_key;

	copy->last_ns = now_ns;
	slot_commit(slot, copy, sizeof(*copy));
	if (file_find(segment, key, &file) == 0 && !(file.flags & FILE_HAS_BASELINE)) {
		note_name(segment, &file);
		(void)file_change_known(segment, key, has_baseline, NULL);
	}
}

void baseline_given(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    const struct version *version)
{
	struct baseline_slot copy;
	struct baseline_slot *slot = hold(segment, scope_id, file_key, true, &copy);

	if (!slot)
		return;
	copy.known = *version;
	copy.known_ns = sys_boottime_ns();
	copy.recent_ns = 0;
	copy.is_given = 1;
	commit(segment, slot, &copy, copy.known_ns);
}

void baseline_read(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		   const struct version *version)
{
	struct baseline_slot copy;
	struct baseline_slot *slot = hold(segment, scope_id, file_key, true, &copy);
	uint64_t now_ns = sys_boottime_ns();

	if (!slot)
		return;
	const struct version *known = known_at(segment, &copy, now_ns);
	if (known && version_equal(known, version))
		segment_count(segment, COUNTER_own_repeats, 1);
	/* The model knows what it was given: its hook would have reported another version. */
	bool is_reported = known == &copy.known && copy.is_given &&
			   (scope_flags(segment, scope_id) & SCOPE_READS_REPORTED);
	if (!is_reported && (!copy.recent_ns || !version_equal(&copy.recent, version))) {
		if (known == &copy.recent) {
			copy.known = copy.recent;
			copy.known_ns = copy.recent_ns;
			copy.is_given = 0;
		}
		copy.recent = *version;
		copy.recent_ns = now_ns;
	}
	commit(segment, slot, &copy, now_ns);
}

/* What a scope itself has, and since when; began_ns: as above. */
static bool own_since(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		      uint64_t began_ns, struct version *ret_version, uint64_t *ret_since_ns)
{
	struct baseline_slot slot;
	const struct version *known = pair_read(segment, &BASELINES, scope_id, file_key, &slot)
					      ? known_to(segment, &slot, sys_boottime_ns(),
							 began_ns)
					      : NULL;
	if (!known)
		return false;
	*ret_version = *known;
	*ret_since_ns = known == &slot.recent ? slot.recent_ns : slot.known_ns;
	return true;
}

bool baseline_since(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    struct version *ret_version, uint64_t *ret_since_ns)
{
	return own_since(segment, scope_id, file_key, 0, ret_version, ret_since_ns) ||
	       own_since(segment, BASELINE_SESSION, file_key, 0, ret_version, ret_since_ns);
}

bool baseline_of(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		 struct version *ret_version)
{
	return baseline_before(segment, scope_id, file_key, 0, ret_version);
}

bool baseline_before(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		     uint64_t began_ns, struct version *ret_version)
{
	uint64_t since_ns;
	return own_since(segment, scope_id, file_key, began_ns, ret_version, &since_ns);
}

bool baseline_at(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		 struct version *ret_version)
{
	uint64_t since_ns;
	return baseline_since(segment, scope_id, file_key, ret_version, &since_ns);
}

bool baseline_newest(const struct segment *segment, uint64_t file_key, struct version *ret_version,
		     uint64_t *ret_since_ns)
{
	uint64_t scope_id = BASELINE_SESSION;
	bool is_known = false;

	for (uint64_t i = 0; i <= segment->capacity[TABLE_SCOPES]; i++) {
		struct baseline_slot slot;
		if (scope_id && pair_read(segment, &BASELINES, scope_id, file_key, &slot)) {
			uint64_t since_ns = slot.recent_ns ? slot.recent_ns : slot.known_ns;
			if (since_ns && (!is_known || since_ns >= *ret_since_ns)) {
				is_known = true;
				*ret_since_ns = since_ns;
				*ret_version = slot.recent_ns ? slot.recent : slot.known;
			}
		}
		const struct scope_slot *scope = segment_slot(segment, TABLE_SCOPES, i);
		scope_id = scope ? __atomic_load_n(&scope->id, __ATOMIC_RELAXED) : 0;
	}
	return is_known;
}

bool baseline_is(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		 uint64_t began_ns, const struct version *version)
{
	struct baseline_slot slot;
	struct version known;

	if (baseline_before(segment, scope_id, file_key, began_ns, &known) ||
	    baseline_of(segment, BASELINE_SESSION, file_key, &known))
		return version_equal(&known, version);
	return pair_read(segment, &BASELINES, scope_id, file_key, &slot) && slot.recent_ns &&
	       version_equal(&slot.recent, version);
}

bool baseline_is_given(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	struct baseline_slot slot;

	return pair_read(segment, &BASELINES, scope_id, file_key, &slot) && slot.is_given &&
	       known_at(segment, &slot, sys_boottime_ns()) == &slot.known;
}

bool baseline_is_read(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	struct version version;

	return baseline_is_given(segment, scope_id, file_key) ||
	       (!(scope_flags(segment, scope_id) & SCOPE_READS_REPORTED) &&
		baseline_of(segment, scope_id, file_key, &version)) ||
	       baseline_of(segment, BASELINE_SESSION, file_key, &version);
}

void baseline_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	struct baseline_slot copy;
	struct baseline_slot *slot = hold(segment, scope_id, file_key, false, &copy);

	if (!slot)
		return;
	copy.known = copy.recent = NO_VERSION;
	copy.known_ns = copy.recent_ns = 0;
	copy.last_ns = sys_boottime_ns();
	slot_commit(slot, &copy, sizeof(copy));
}

int baseline_each(const struct segment *segment,
		  int (*callback)(uint64_t scope_id, uint64_t file_key,
				  const struct version *version, void *data),
		  void *data)
{
	uint64_t now_ns = sys_boottime_ns();

	SEGMENT_EACH_USED (segment, TABLE_BASELINES, i) {
		const struct baseline_slot *slot = segment_slot(segment, TABLE_BASELINES, i);
		struct baseline_slot copy;
		if (!__atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) ||
		    !slot_read(slot, &copy, sizeof(copy)) || !copy.scope_id)
			continue;
		const struct version *known = known_at(segment, &copy, now_ns);
		int stop = known ? callback(copy.scope_id, copy.file_key, known, data) : 0;
		if (stop)
			return stop;
	}
	return 0;
}

bool baseline_scope_lives(const struct segment *segment, uint64_t scope_id)
{
	const struct scope_slot *slot = scope_find(segment, scope_id);
	struct scope_slot scope;

	if (!slot || !slot_read(slot, &scope, SCOPE_CHECKED_BYTES) || scope.id != scope_id ||
	    !scope.anchor_pid)
		return false;
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		struct process_slot process;
		if (process_read(segment, i, &process) && process.pid == scope.anchor_pid &&
		    (process.state == PROCESS_ANNOUNCED || process.state == PROCESS_ATTACHED) &&
		    !process_is_gone(&process))
			return true;
	}
	return false;
}

uint64_t baseline_only_scope(const struct segment *segment)
{
	uint64_t found = 0, live = 0;
	unsigned found_count = 0, live_count = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_SCOPES]; i++) {
		const struct scope_slot *scope = segment_slot(segment, TABLE_SCOPES, i);
		uint64_t id = __atomic_load_n(&scope->id, __ATOMIC_RELAXED);
		if (!id)
			continue;
		found = id;
		found_count++;
		if (baseline_scope_lives(segment, id)) {
			live = id;
			live_count++;
		}
	}
	if (live_count)
		return live_count == 1 ? live : 0;
	return found_count == 1 ? found : 0;
}

static void adopt(const struct segment *segment, uint64_t file_key, const struct version *version,
		  uint64_t since_ns)
{
	struct baseline_slot copy;
	struct baseline_slot *slot = hold(segment, BASELINE_SESSION, file_key, true, &copy);

	if (!slot)
		return;
	if (copy.known_ns >= since_ns) {
		slot_abandon(slot, &copy, sizeof(copy));
		return;
	}
	copy.known = *version;
	copy.known_ns = since_ns;
	copy.recent_ns = 0;
	copy.is_given = 0;
	commit(segment, slot, &copy, sys_boottime_ns());
}

/* Times of another boot say nothing in this one: all that is known is older than anything to
 * come. */
static void make_old(const struct segment *segment)
{
	SEGMENT_EACH_USED (segment, TABLE_BASELINES, i) {
		struct baseline_slot *slot = segment_slot(segment, TABLE_BASELINES, i), copy;
		if (!__atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) ||
		    !slot_acquire(slot, &copy, sizeof(copy)))
			continue;
		if (copy.recent_ns)
			copy.known = copy.recent;
		copy.known_ns = copy.known_ns || copy.recent_ns;
		copy.recent_ns = 0;
		copy.last_ns = 1;
		slot_commit(slot, &copy, sizeof(copy));
	}
}

void baseline_adopt(const struct segment *segment, bool is_other_boot)
{
	uint64_t now_ns = sys_boottime_ns(), asked = 0;
	bool lives = false;

	SEGMENT_EACH_USED (segment, TABLE_BASELINES, i) {
		const struct baseline_slot *slot = segment_slot(segment, TABLE_BASELINES, i);
		struct baseline_slot copy;
		if (!__atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) ||
		    !slot_read(slot, &copy, sizeof(copy)) || !copy.scope_id ||
		    copy.scope_id == BASELINE_SESSION)
			continue;
		if (copy.scope_id != asked) {
			asked = copy.scope_id;
			lives = !is_other_boot && baseline_scope_lives(segment, asked);
		}
		const struct version *known = lives ? NULL : known_at(segment, &copy, now_ns);
		if (known)
			adopt(segment, copy.file_key, known,
			      known == &copy.recent ? copy.recent_ns : copy.known_ns);
	}
	if (is_other_boot)
		make_old(segment);
}
