/* May a trapped call happen: see policy.h. */
#include "shim/supervise/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/supervise/guarded.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/resolve_links.h"
#include "shim/supervise/rules.h"

/* Of a name that a rule may speak of. */
struct rule_inquiry {
	const struct trapped *trapped;
	const struct named *named;
	uint32_t ops; /* of the question */
	bool follows;
};

/* Where it cannot be inspected: the stricter answer. */
static bool is_there(void *data)
{
	const struct rule_inquiry *question = data;

	return trapped_is_there(question->trapped, question->named, question->follows,
				!(question->ops & RULE_CREATE));
}

/* What a name stands for, whatever it is called; within inspection_wait(). */
static int inspect_file(const struct trapped *trapped, uint32_t ops, const struct named *named,
			bool follows)
{
	const struct supervision *supervision = trapped->supervision;
	struct target *target = trapped->target;
	char link[32], path[SEGMENT_PATH_BYTES];
	int error = 0;

	(void)snprintf(link, sizeof(link), "fd/%d", named->directory);
	int fd = named->path[0] ? resolve_file(target, named, follows)
				: proc_open_path(named->tid, link);
	if (fd >= 0) {
		error = rules_ask_file(supervision, target, ops, named, fd,
				       resolve_is_visible(target, fd));
		(void)close(fd);
	} else if (fd == -ENOENT && (ops & RULE_CREATE) &&
		   resolve_identify(target, named, false, path, sizeof(path))) {
		error = rules_ask_new(supervision, target, ops, named, path);
	}
	return error;
}

static int ask_file(const struct trapped *trapped, uint32_t ops, const struct named *named,
		    bool follows)
{
	if (!rules_deny_file(trapped->supervision, trapped->target, ops))
		return 0;
	exchange_note_slow(trapped->exchange);
	if (!inspection_wait_for_rules()) {
		segment_count(trapped->supervision->segment, COUNTER_calls_unjudged, 1);
		return 0;
	}
	int error = inspect_file(trapped, ops, named, follows);
	inspection_finish();
	return error;
}

int policy_rules(const struct trapped *trapped, uint32_t ops, const struct named *named,
		 bool follows)
{
	struct rule_inquiry question = { trapped, named, ops, follows };
	struct rules_access access = {
		.ops = ops, .named = named, .is_there = is_there, .data = &question
	};

	/* An empty name is an error, or the descriptor's own file. */
	int error = named->path[0] ? rules_ask(trapped->supervision, trapped->target, &access) : 0;
	return error ? error : ask_file(trapped, ops, named, follows);
}

/* What a change does to what was there. */
static enum guard_kind kind_of(enum journal_op op, uint32_t flags)
{
	if (op == JOURNAL_TRUNCATE)
		return GUARD_WRITES;
	if (op != JOURNAL_OPEN)
		return GUARD_UNNAMES;
	if (flags & O_TRUNC)
		return GUARD_REPLACES;
	return flags & O_APPEND ? GUARD_APPENDS : GUARD_WRITES;
}

int policy_guard(const struct trapped *trapped, enum journal_op op, uint32_t flags,
		 const struct named *named, bool follows, const struct named *source)
{
	const struct supervision *supervision = trapped->supervision;
	const struct target *target = trapped->target;
	struct supervise_change change = {
		.pid = target->pid,
		.role = target->request.context.role,
		.context = &target->request.context,
		.op = op,
		.flags = flags,
		.path = named->normal,
	};

	int error = 0;

	if (!named->normal || !named->path[0])
		return 0;
	/* Nothing is lost by these: what is there is not inspected; what is made where there is
	 * nothing is the session's. */
	bool is_safe = op == JOURNAL_LINK ||
		       (op == JOURNAL_RENAME && (flags & (RENAME_NOREPLACE | RENAME_EXCHANGE)));
	bool is_new = is_safe && !(op == JOURNAL_RENAME && (flags & RENAME_EXCHANGE)) &&
		      !trapped_is_there(trapped, named, false, true);
	struct named real;
	char path[SEGMENT_PATH_BYTES];
	if ((!is_safe || is_new) && write_may_concern(supervision, target, named)) {
		exchange_note_slow(trapped->exchange);
		if (write_identify(supervision, target, named, follows, &real, path))
			error = guarded_ask(supervision, trapped->target, &real, kind_of(op, flags),
					    follows, source);
		if (error == 0 && target->writes)
			targets_note_writing(trapped->targets, target->pid);
	}
	if (error == 0 && supervision->changing && op != JOURNAL_LINK) {
		exchange_note_slow(trapped->exchange);
		change.exists = trapped_inspect(trapped, named, follows, &change.stat) == 0;
		error = supervision->changing(supervision->data, &change);
	}
	return error == 0 || exchange_is_valid(trapped->exchange) ? error : 0;
}
