/* What a trapped call means: see call.h. */
#include "shim/supervise/call.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/supervise/directory.h"
#include "shim/supervise/foreign.h"
#include "shim/supervise/guarded.h"
#include "shim/supervise/handshake.h"
#include "shim/supervise/keeping.h"
#include "shim/supervise/kept_call.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/metadata.h"
#include "shim/supervise/names.h"
#include "shim/supervise/opening.h"
#include "shim/supervise/policy.h"
#include "shim/supervise/record.h"
#include "shim/supervise/rules.h"
#include "shim/supervise/viewer.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/sys/sys.h"

/* ---- programs ---- */

/* Says once of each program that its setuid bit has no effect below no_new_privs. */
static void report_setuid(const struct supervision *supervision, const struct target *target,
			  const char *path, const struct stat *stat)
{
	enum { REPORTED_MAX = 64 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t reported[REPORTED_MAX];
	static int reported_count;
	char line[SEGMENT_PATH_BYTES + 160], name[4 * SEGMENT_PATH_BYTES];
	bool is_new = true;

	if (!target->no_new_privs || !supervision->report ||
	    !(((stat->st_mode & S_ISUID) && stat->st_uid != geteuid()) ||
	      ((stat->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	       stat->st_gid != getegid())))
		return;
	(void)pthread_mutex_lock(&lock);
	for (int i = 0; i < reported_count; i++)
		is_new = is_new && reported[i] != stat->st_ino;
	if (is_new && reported_count < REPORTED_MAX)
		reported[reported_count++] = stat->st_ino;
	else
		is_new = false;
	(void)pthread_mutex_unlock(&lock);
	if (!is_new || path_escape(path, name, sizeof(name)) < 0)
		return;
	(void)snprintf(line, sizeof(line),
		       "%.*s is setuid: it gets no privileges below a supervisor "
		       "(no_new_privs); --via preload avoids that",
		       SEGMENT_PATH_BYTES, name);
	supervision->report(supervision->data, line);
}

/* The exec is a call of the library's: it asked the rules, and recorded the start. */
static bool is_started_by_library(const struct trapped *trapped)
{
	const struct target *target = trapped->target;

	return target->way == WAY_BEFORE_EXEC
		       ? target->has_library
		       : target->way == WAY_LIBRARY &&
				 target_is_library_code(
					 target, trapped->exchange->call->data.instruction_pointer);
}

static struct verdict judge_exec(const struct trapped *trapped)
{
	const struct supervision *supervision = trapped->supervision;
	const struct system_call *form = trapped->form;
	struct target *target = trapped->target;
	char words[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];
	struct name name;
	struct stat stat;
	bool cut;

	target->root_changes =
		true; /* asked for anew: not every call that gives another is trapped */
	if (!trapped_name(trapped, form->directory, form->path, false, &name))
		return PASS;
	pid_t tid = name.named.tid;
	size_t bytes = memory_words(tid, trapped_argument(trapped, form->other_path), words,
				    sizeof(words), &cut);
	if (!exchange_is_valid(trapped->exchange))
		return PASS;
	/* A name that is looked for along PATH is tried in each directory: where there is nothing,
	 * nothing is announced.  It is looked for all the same whether another program came of it:
	 * what was seen here may not be what the kernel sees. */
	bool is_there = true, is_spared = false;
	if (name.named.normal && inspection_start()) {
		long error = trapped_inspect(trapped, &name.named, true, &stat);
		inspection_finish();
		is_there = error != -ENOENT && error != -ENOTDIR;
		if (error == 0) {
			report_setuid(supervision, target, name.path, &stat);
			is_spared = rules_spare(supervision, &stat);
		}
	}
	/* What passed libc was announced by the library; in another namespace of processes by
	 * numbers that mean nothing here. */
	bool by_library = is_started_by_library(trapped);
	bool elsewhere = by_library && target->way == WAY_LIBRARY && target_is_elsewhere(target);
	bool announce = is_there && (!by_library || elsewhere);
	if (elsewhere)
		target_inspect_library(trapped->targets, target);
	int error = by_library || is_spared ? 0
					    : policy_rules(trapped, RULE_EXEC, &name.named, true);
	if (error == 0 && is_there && foreign_refuses(trapped, &name.named))
		error = -EACCES;
	if (error < 0)
		return verdict_fail(error);
	/* Programs that are many start themselves so; their own name tells more. */
	const char *executable = name.path;
	if (strcmp(name.path, "/proc/self/exe") == 0 &&
	    proc_link(tid, "exe", path, sizeof(path)) > 0)
		executable = path;
	/* Those that it started are copies of what it is now. */
	target_meet_children(trapped->targets, target);
	target_start(trapped->targets, target, tid, announce, executable, words, bytes);
	target->start.announced_elsewhere = elsewhere;
	if (announce && !elsewhere && target->start.announced_here)
		record_start(supervision, target, &name.named, name.path, words, bytes, cut);
	return PASS;
}

static void finish_process(const struct trapped *trapped, int status)
{
	const struct segment *segment = trapped->supervision->segment;
	struct target *target = trapped->target;
	const struct context *context = &target->request.context;

	guarded_complete(trapped->supervision, target, 0);
	record_ended(trapped->supervision, target, (pid_t)trapped->exchange->call->pid, status);
	if (target->is_fork)
		return;
	if (target->request.is_viewer)
		viewer_ended(trapped->supervision, target, status);
	else if (context->role == ROLE_READER && !target->invocation.ignored)
		request_end_reader(segment, &target->request, (uint32_t)target->pid, NULL);
	if (context->capture_id &&
	    capture_shell(segment, context->capture_id) == (uint32_t)target->pid)
		capture_finish(segment, target->request.subject, context->capture_id);
	keeping_ends(trapped->supervision, target);
	process_exit(segment, target->process);
}

static struct verdict judge_exit(const struct trapped *trapped)
{
	struct target *target = trapped->target;

	if (target->way == WAY_SUPERVISED)
		finish_process(trapped, (int)trapped_argument(trapped, 0));
	target_meet_children(trapped->targets, target);
	return PASS;
}

/* ---- all ---- */

/* Is known of the process what is to be known of one that makes this call? */
static bool is_known(const struct trapped *trapped)
{
	const struct target *target = trapped->target;
	enum operation operation = trapped->form->operation;

	uint64_t code = trapped->exchange->call->data.instruction_pointer;

	if (target_is_complete(target) || operation == OPERATION_START ||
	    operation == OPERATION_END)
		return target_is_complete(target);
	/* Of these nothing is asked at all. */
	return target_is_loading(target, code) ||
	       (target->way == WAY_LIBRARY && !target->exec_called &&
		target_is_library_code(target, code));
}

static struct verdict judge_known(const struct trapped *trapped)
{
	const struct seccomp_notif *call = trapped->exchange->call;
	struct target *target = trapped->target;
	enum operation operation = trapped->form->operation;

	if (operation == OPERATION_START || operation == OPERATION_END || !is_known(trapped))
		exchange_note_slow(trapped->exchange);
	if (target->way != WAY_BEFORE_EXEC || target->has_library)
		target_returned(trapped->targets, target, (pid_t)call->pid);
	/* A program that starts another one was not being loaded any more. */
	if (!target_complete(trapped->targets, target,
			     operation == OPERATION_START ? 0 : call->data.instruction_pointer,
			     operation == OPERATION_END))
		return PASS;
	if (target->way == WAY_BEFORE_EXEC)
		return operation == OPERATION_START ? judge_exec(trapped) : PASS;
	if (target->way == WAY_LIBRARY) {
		if (operation == OPERATION_END)
			return judge_exit(trapped);
		if (target_is_library_code(target, call->data.instruction_pointer)) {
			if (operation == OPERATION_CHANGE_DIRECTORY)
				target_moves(target, (pid_t)call->pid);
			return operation == OPERATION_START ? judge_exec(trapped) : PASS;
		}
		target_inspect_library(trapped->targets, target);
	} else if (target->is_fork && !target->reported && operation != OPERATION_START) {
		record_copied(trapped->supervision, target);
	}
	if (target->kept) {
		exchange_note_slow(trapped->exchange);
		kept_call_complete(trapped->supervision, target, (pid_t)call->pid);
	}
	if (target->writes) {
		exchange_note_slow(trapped->exchange);
		guarded_complete(trapped->supervision, target, (pid_t)call->pid);
	}
	if (operation_is_of_names(operation))
		return names_judge(trapped);
	switch (operation) {
	case OPERATION_METADATA:
	case OPERATION_METADATA_OF_DESCRIPTOR:
	case OPERATION_RESIZE:
	case OPERATION_ALLOCATE:
		return metadata_judge(trapped);
	case OPERATION_OPEN:
		return opening_judge(trapped);
	case OPERATION_START:
		return judge_exec(trapped);
	case OPERATION_END:
		return judge_exit(trapped);
	case OPERATION_CHANGE_DIRECTORY:
		return names_judge_move(trapped);
	default: /* not trapped */
		return PASS;
	}
}

struct verdict call_judge(struct targets *targets, const struct supervision *supervision,
			  uint64_t mark, struct exchange *exchange)
{
	const struct seccomp_notif *call = exchange->call;
	struct trapped trapped = { targets, supervision, exchange, NULL, NULL };
	struct verdict verdict = PASS;

	trapped.form = system_call_find(call->data.nr);
	trapped.target = trapped.form && call->pid ? target_find(targets, (pid_t)call->pid) : NULL;
	bool is_handshake = mark && call->data.nr == SYS_openat && call->data.args[5] == mark + 1;
	bool known = trapped.target && !is_handshake && is_known(&trapped);
	if (!known)
		exchange_note_slow(exchange);
	if (trapped.form && call->pid && !trapped.target)
		trapped.target = target_acquire(targets, (pid_t)call->pid);
	/* Of one that is known nothing is asked but what the call says, which is held against it
	 * later. */
	bool is_valid = known || exchange_is_valid(exchange);
	if (!trapped.target || !is_valid) {
		if (is_valid) /* else it was killed: there is no call any more */
			segment_count(supervision->segment, COUNTER_calls_unjudged, 1);
	} else if (is_handshake) {
		bool attach = target_library(targets, trapped.target, call->data.args[1]);
		verdict = (struct verdict){ VERDICT_RETURN,
					    attach ? HANDSHAKE_ATTACH : HANDSHAKE_STAY_OFF };
	} else if (trapped.form->operation == OPERATION_CONFINE) {
		exchange_note_slow(exchange);
		target_confine(trapped.target, (int)trapped_argument(&trapped, 0));
	} else if (trapped.form->operation == OPERATION_CHANGE_ROOT) {
		trapped.target->root_changes = true;
		target_moves(trapped.target, (pid_t)call->pid);
	} else {
		verdict = judge_known(&trapped);
	}
	if (trapped.target)
		target_release(targets, trapped.target);
	return verdict.kind == VERDICT_PASS && exchange->refusal ? verdict_fail(exchange->refusal)
								 : verdict;
}
