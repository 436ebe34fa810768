/* Trapped opens: see opening.h. */
#include "shim/supervise/opening.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/supervise/keeping.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/policy.h"
#include "shim/supervise/record.h"
#include "shim/supervise/rules.h"
#include "shim/supervise/shown.h"
#include "shim/supervise/viewer.h"

/* One open: what `own` of its call points to. */
struct opening {
	const struct trapped *trapped;
	struct name name;
	enum open_purpose purpose;
	bool makes_nameless;         /* O_TMPFILE */
	bool has_how;                /* openat2 */
	bool is_own;                 /* the session's own files, by its own code */
	enum call_presence presence; /* OPENS_WRITE: of the file, before the call */
	bool is_answered;            /* a viewer's: here */
	struct viewer_answer view;
	int number; /* is_answered: of the descriptor there; -1: it opens the file by itself */
};

/* Does its scope know what it reads? */
static bool reads_files(const struct target *target)
{
	return target->request.context.role == ROLE_AGENT || target->invocation.shows;
}

/* ---- what it is ---- */

/* RESOLVE_IN_ROOT: the root is where the directory is. */
static void resolve_in_root(const struct trapped *trapped, struct name *name)
{
	name->named.directory = trapped_directory(trapped, trapped->form->directory);
	name->named.path = name->path;
	size_t slashes = strspn(name->path, "/");
	memmove(name->path, name->path + slashes, strlen(name->path + slashes) + 1);
	if (!name->path[0])
		(void)snprintf(name->path, sizeof(name->path), ".");
	trapped_locate(trapped, name);
}

/* struct open_how is in the process's memory.  False: it cannot be read. */
static bool read_how(const struct trapped *trapped, struct open_how *ret_how)
{
	ssize_t got = memory_read((pid_t)trapped->exchange->call->pid, trapped_argument(trapped, 2),
				  ret_how, sizeof(*ret_how));

	if (got < 0 && got != -EFAULT && got != -ESRCH)
		trapped_give_up(trapped);
	return got == sizeof(*ret_how);
}

/* Reads the call's flags and its name.  Returns false if the process's memory cannot be read. */
static bool read_opening(const struct trapped *trapped, struct opening *opening, struct call *call)
{
	const struct system_call *form = trapped->form;
	struct name *name = &opening->name;
	struct open_how how = { .resolve = 0 };

	call_of_number(form, trapped->exchange->call->data.args, call);
	call->own = opening;
	opening->trapped = trapped;
	opening->has_how = form->number == SYS_openat2;
	opening->presence = PRESENCE_UNKNOWN;
	if (opening->has_how) {
		if (!read_how(trapped, &how))
			return false;
		call_set_open_flags(call, (uint32_t)how.flags);
	}
	opening->purpose = call_open_purpose(call->flags);
	opening->makes_nameless = (call->flags & O_TMPFILE) == O_TMPFILE;
	if (!trapped_name(trapped, form->directory, form->path, opening->purpose == OPENS_WRITE,
			  name))
		return false;
	if (opening->has_how && (how.resolve & RESOLVE_IN_ROOT) && name->path[0] == '/')
		resolve_in_root(trapped, name);
	call->name.path = name->named.path;
	opening->is_own = opening->purpose != OPENS_PLACE && name->named.normal &&
			  rules_is_session(trapped->supervision, trapped->target->pid,
					   name->named.normal, call->flags);
	return true;
}

/* ---- is it judged? ---- */

static bool opens_content(const struct opening *opening)
{
	return opening->purpose != OPENS_PLACE;
}

static bool is_not_by_library(const struct opening *opening)
{
	return !(opening->is_own && opening->trapped->supervision->has_library);
}

static bool still_waits(const struct opening *opening)
{
	const struct trapped *trapped = opening->trapped;
	const struct target *target = trapped->target;
	bool is_plain = opening->purpose != OPENS_WRITE && !target->request.is_viewer &&
			!reads_files(target);

	return (is_plain &&
		target_is_sure(trapped->targets, target, trapped->exchange->received_ns)) ||
	       exchange_is_valid(trapped->exchange);
}

/* What has to hold for an open to be judged, in the order in which it is asked; and the reason for
 * which the call passes as it is where it does not. */
#define OPEN_CHECKS(CHECK) \
	CHECK(opens_content, "O_PATH: nothing of the file is read or written") \
	CHECK(is_not_by_library, "the library maps the session's files itself") \
	CHECK(still_waits, "its process is gone; not asked where only a record depends on it")

static bool is_judged(const struct opening *opening)
{
#define CHECK(function, reason) \
	if (!function(opening)) \
		return false;
	OPEN_CHECKS(CHECK)
#undef CHECK
	return true;
}

/* Is a viewer's read answered here, and the descriptor added to the process? */
static bool is_for_viewer(const struct opening *opening)
{
	const struct target *target = opening->trapped->target;

	return opening->purpose != OPENS_WRITE && target->request.is_viewer &&
	       target->way == WAY_SUPERVISED && !opening->has_how && !opening->is_own;
}

/* ---- its stations ---- */

static bool station_rules(struct call *call, enum operation operation)
{
	const struct opening *opening = call->own;
	uint32_t ops, other;

	(void)operation;
	call_rules(call, &ops, &other);
	call->error = policy_rules(opening->trapped, ops, &opening->name.named, call->name.follows);
	return call->error == 0;
}

static bool changes_file(const struct opening *opening)
{
	return opening->purpose == OPENS_WRITE && !opening->makes_nameless && !opening->is_own;
}

static bool station_guard(struct call *call, enum operation operation)
{
	struct opening *opening = call->own;
	const struct named *named = &opening->name.named;

	(void)operation;
	if (!changes_file(opening))
		return true;
	bool is_there = trapped_is_there(opening->trapped, named, call->name.follows, true);
	opening->presence = is_there ? PRESENCE_THERE : PRESENCE_NONE;
	call->error = policy_guard(opening->trapped, JOURNAL_OPEN, call->flags, named,
				   call->name.follows, NULL);
	return call->error == 0;
}

static void station_keep(struct call *call, enum operation operation)
{
	const struct opening *opening = call->own;
	const struct trapped *trapped = opening->trapped;

	(void)operation;
	if (!call_open_may_change(call->flags) || opening->makes_nameless || opening->is_own ||
	    !keeping_is_on(trapped->supervision, trapped->target))
		return;
	exchange_note_slow(trapped->exchange);
	if (keeping_open(trapped->supervision, trapped->target, call, &opening->name.named))
		targets_note_writing(trapped->targets, trapped->target->pid);
}

/* How it ends is found out later. */
static void station_kept(struct call *call, enum operation operation)
{
	(void)call;
	(void)operation;
}

static void station_observe(struct call *call, enum operation operation)
{
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;
	const struct opening *opening = call->own;
	const struct trapped *trapped = opening->trapped;
	const struct named *named = &opening->name.named;

	(void)operation;
	if (call->error || opening->is_own)
		return;
	trapped_count(trapped, call_open_count(opening->purpose));
	if (changes_file(opening)) {
		if (opening->presence == PRESENCE_NONE && (call->flags & O_CREAT))
			trapped_note(trapped, named, FILE_ACTION_CREATE);
		else if (opening->presence == PRESENCE_THERE &&
			 (call->flags & ONLY_NEW) != ONLY_NEW)
			trapped_note(trapped, named, FILE_ACTION_CHANGE);
	} else if (opening->purpose == OPENS_READ && !opening->is_answered &&
		   reads_files(trapped->target)) {
		exchange_note_slow(trapped->exchange);
		shown_note_read(trapped->supervision, trapped->target, named);
	}
}

static void journal_viewed(const struct opening *opening, uint32_t flags)
{
	const struct trapped *trapped = opening->trapped;
	const struct viewer_answer *view = &opening->view;
	bool saves = opening->number >= 0 && view->answer.decision == DECISION_NOTICE;

	record_viewed(trapped->supervision, trapped->target, &opening->name.named, flags,
		      opening->number, &view->answer, &view->details,
		      saves ? view->details.size_bytes - view->answer.notice_bytes : 0);
}

static void station_journal(struct call *call, enum operation operation)
{
	const struct opening *opening = call->own;
	const struct trapped *trapped = opening->trapped;
	uint16_t marks = 0;

	(void)operation;
	if (opening->is_own && !call->error)
		return;
	if (opening->is_answered && opening->view.is_decided) {
		journal_viewed(opening, call->flags);
		return;
	}
	if (opening->presence == PRESENCE_THERE)
		marks = JOURNAL_WAS_THERE;
	else if (opening->presence == PRESENCE_NONE && (call->flags & O_CREAT))
		marks = JOURNAL_MADE;
	record_open(trapped->supervision, trapped->target, &opening->name.named, call->flags,
		    -call->error, marks);
}

#include "shim/call/order.h"

/* Opens a file for a viewer.  Returns false where the process is gone. */
static bool answer_viewer(struct opening *opening, uint32_t flags)
{
	const struct trapped *trapped = opening->trapped;
	struct viewer_answer *view = &opening->view;

	opening->is_answered = true;
	opening->number = -1;
	exchange_note_slow(trapped->exchange);
	viewer_open(trapped->supervision, trapped->target, &opening->name.named, flags, view);
	if (view->fd < 0)
		return exchange_is_valid(trapped->exchange);
	opening->number = exchange_add(trapped->exchange, view->fd, flags & O_CLOEXEC);
	(void)close(view->fd);
	if (opening->number < 0)
		viewer_undo(trapped->supervision, trapped->target, view);
	/* The process may go on by now, but not end: that, too, is for the thread that holds it
	 * here. */
	return true;
}

struct verdict opening_judge(const struct trapped *trapped)
{
	struct opening opening;
	struct call call;

	if (!read_opening(trapped, &opening, &call) || !is_judged(&opening))
		return PASS;
	opening.is_answered = false;
	if (order_may(&call, OPERATION_OPEN) && is_for_viewer(&opening) &&
	    !answer_viewer(&opening, call.flags))
		return PASS;
	order_came_back(&call, OPERATION_OPEN);
	if (opening.is_answered && opening.number >= 0)
		return (struct verdict){ VERDICT_ANSWERED, 0 };
	return call.error < 0 ? verdict_fail(call.error) : PASS;
}
