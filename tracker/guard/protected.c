/* Files that rules keep from programs: see protected.h. */
#include "tracker/guard/protected.h"

#include <errno.h>
#include <string.h>

#include "tracker/process/subject.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum { PROBES_MAX = 64 };

static uint64_t first_place(const struct segment *segment, const struct stat *stat)
{
	uint64_t hash = (stat->st_ino + (uint64_t)stat->st_dev * UINT64_C(0x100000001b3)) *
			UINT64_C(0x9e3779b97f4a7c15);
	return (hash >> 20) % segment->capacity[TABLE_PROTECTED];
}

/* Never NULL: the place is one of the table's. */
static struct protected_slot *slot_at(const struct segment *segment, uint64_t place)
{
	return segment_slot(segment, TABLE_PROTECTED, place % segment->capacity[TABLE_PROTECTED]);
}

static bool is_of(const struct protected_slot *slot, const struct stat *stat)
{
	return slot->dev == stat->st_dev && slot->ino == stat->st_ino;
}

void protected_clear(const struct segment *segment)
{
	struct protected_slot *slot;

	__atomic_store_n(&segment->header->protects, 0, __ATOMIC_RELEASE);
	for (uint64_t i = 0; (slot = segment_slot(segment, TABLE_PROTECTED, i)); i++)
		memset(slot, 0, sizeof(*slot));
}

int protected_note(const struct segment *segment, const struct stat *stat, uint64_t creation_ns,
		   uint64_t rules)
{
	uint64_t place = first_place(segment, stat);

	for (uint64_t i = 0; i < PROBES_MAX; i++) {
		struct protected_slot *slot = slot_at(segment, place + i);
		uint64_t state = PROTECTED_FREE;

		if (__atomic_compare_exchange_n(&slot->state, &state, PROTECTED_CLAIMED, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			slot->dev = stat->st_dev;
			slot->ino = stat->st_ino;
			slot->creation_ns = creation_ns;
			slot->rules = rules;
			__atomic_store_n(&slot->state, PROTECTED_NOTED, __ATOMIC_RELEASE);
			(void)__atomic_fetch_add(&segment->header->protects, 1, __ATOMIC_RELEASE);
			return 0;
		}
		if (state != PROTECTED_NOTED || !is_of(slot, stat))
			continue;
		/* The number may be another file's by now. */
		if (slot->creation_ns != creation_ns) {
			__atomic_store_n(&slot->rules, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&slot->creation_ns, creation_ns, __ATOMIC_RELEASE);
		}
		(void)__atomic_fetch_or(&slot->rules, rules, __ATOMIC_RELEASE);
		return 0;
	}
	return -ENOSPC;
}

/* Which rules mean the file of a descriptor: bits. */
static uint64_t rules_of(const struct segment *segment, int fd, const struct stat *stat)
{
	if (!__atomic_load_n(&segment->header->protects, __ATOMIC_ACQUIRE))
		return 0;
	uint64_t place = first_place(segment, stat);
	for (uint64_t i = 0; i < PROBES_MAX; i++) {
		const struct protected_slot *slot = slot_at(segment, place + i);
		uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

		if (state == PROTECTED_FREE)
			return 0;
		if (state == PROTECTED_NOTED && is_of(slot, stat))
			return __atomic_load_n(&slot->creation_ns, __ATOMIC_ACQUIRE) ==
					       subject_creation_ns(SUBJECT_SELF, fd)
				       ? __atomic_load_n(&slot->rules, __ATOMIC_ACQUIRE)
				       : 0;
	}
	return 0;
}

bool protected_judge(const struct segment *segment, const struct protected_question *question,
		     char *ret_path, struct rule_answer *ret_answer)
{
	const struct rule_program *program = question->program;
	struct rule_question by_path = { .ops = rule_ops_of_file(question->ops),
					 .path = ret_path,
					 .denies = true };
	struct stat stat;

	ret_path[0] = '\0';
	if (sys_fstat(question->fd, &stat) < 0 ||
	    !(S_ISREG(stat.st_mode) || (S_ISDIR(stat.st_mode) && rule_gives_name(question->ops))))
		return false;
	bool has_path = subject_link(SUBJECT_SELF, question->fd, ret_path, SEGMENT_PATH_BYTES) >
				0 &&
			ret_path[0] == '/';
	if (!has_path)
		ret_path[0] = '\0';
	if (S_ISREG(stat.st_mode) &&
	    rule_judge_file(segment, program, by_path.ops, rules_of(segment, question->fd, &stat),
			    ret_answer))
		return true;
	if (!has_path || !question->has_path)
		return false;
	struct rule_answer answer;
	rule_judge(segment, program, &by_path, &answer);
	if (answer.action != RULE_ACTION_DENY)
		return false;
	answer.needs_lookup = false;
	*ret_answer = answer;
	return true;
}
