/* What a trapped call means: see call.h. */
#include "shim/supervise/call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/call/call.h"
#include "shim/supervise/directory.h"
#include "shim/supervise/guarded.h"
#include "shim/supervise/handshake.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/record.h"
#include "shim/supervise/rules.h"
#include "shim/supervise/viewer.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* What is known while one call is inspected. */
struct trapped {
	struct targets *targets;
	const struct supervision *supervision;
	struct exchange *exchange;
	struct target *target;
	const struct system_call *form;
};

/* A name of a call, with the texts that it points to. */
struct name {
	struct named named;
	char path[SEGMENT_PATH_BYTES]; /* `named` may begin behind its /proc/self/cwd */
	char base[SEGMENT_PATH_BYTES];
	char normal[SEGMENT_PATH_BYTES];
};

static const struct verdict PASS = { VERDICT_PASS, 0 };

bool exchange_is_valid(const struct exchange *exchange)
{
	uint64_t id = exchange->call->id;
	return ioctl(exchange->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int exchange_add(const struct exchange *exchange, int fd, bool close_on_exec)
{
	struct seccomp_notif_addfd add = {
		.id = exchange->call->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = close_on_exec ? O_CLOEXEC : 0,
	};
	int number = ioctl(exchange->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	return number < 0 ? -errno : number;
}

static uint64_t argument(const struct trapped *trapped, int place)
{
	return trapped->exchange->call->data.args[place];
}

static int directory_of(const struct trapped *trapped, int place)
{
	return place == NO_PLACE ? AT_FDCWD : (int)argument(trapped, place);
}

/* Where the path leads, as the supervisor names it; "" where that is not known. */
static void normalize(const struct trapped *trapped, struct name *name)
{
	const struct target *target = trapped->target;
	char long_path[2 * SEGMENT_PATH_BYTES], link[32];
	const char *path = name->named.path, *base = name->named.base;
	int fd;

	name->normal[0] = '\0';
	const char *rest = path_behind_descriptor(path, (uint32_t)target->pid, &fd);
	if (rest) {
		char open_for[SEGMENT_PATH_BYTES];
		(void)snprintf(link, sizeof(link), "fd/%d", fd);
		if (proc_link(name->named.tid, link, open_for, sizeof(open_for)) < 0)
			return;
		(void)snprintf(long_path, sizeof(long_path), "%s%s", open_for, rest);
		path = long_path;
	} else if (path[0] == '/' && target->root && target->root[0]) {
		/* First without: no `..` leads out of a root. */
		int length = snprintf(long_path, sizeof(long_path), "%s", target->root);
		if (path_normalize(NULL, path, long_path + length,
				   sizeof(long_path) - (size_t)length) <= 0)
			return;
		path = long_path;
	} else if (path[0] != '/' && !base) {
		return;
	}
	if (path_normalize(base, path, name->normal, sizeof(name->normal)) <= 0)
		name->normal[0] = '\0';
	path_use_root(trapped->supervision->segment, name->normal, sizeof(name->normal));
}

/* Learns what a name stands for. */
static void locate(const struct trapped *trapped, struct name *name)
{
	struct named *named = &name->named;
	pid_t tid = named->tid;

	named->base = NULL;
	if (trapped->target->root_changes)
		target_refresh_root(trapped->targets, trapped->target);
	if (named->path[0] != '/' &&
	    (named->directory == AT_FDCWD
		     ? target_directory(trapped->target, tid, name->base, sizeof(name->base))
		     : proc_directory(tid, named->directory, name->base, sizeof(name->base)) > 0))
		named->base = name->base;
	normalize(trapped, name);
	named->normal = name->normal[0] ? name->normal : NULL;
}

/* Reads a name that a call was given.  changes: what it stands for is about to be changed; then the
 * current directory is asked for again, which others may have given another name.  False when the
 * kernel will find it wrong, or it cannot be read. */
static bool read_name(const struct trapped *trapped, int directory_at, int path_at, bool changes,
		      struct name *ret_name)
{
	struct named *named = &ret_name->named;
	pid_t tid = (pid_t)trapped->exchange->call->pid;

	*named = (struct named){ .tid = tid, .directory = directory_of(trapped, directory_at) };
	ssize_t length = memory_text(tid, argument(trapped, path_at), ret_name->path,
				     sizeof(ret_name->path));
	if (length < 0) {
		if (length != -EFAULT && length != -ENAMETOOLONG && length != -ESRCH)
			segment_count(trapped->supervision->segment, COUNTER_calls_unjudged, 1);
		return false;
	}
	named->path = ret_name->path;
	/* What is below an open directory's name in /proc is relative to that directory. */
	int fd;
	const char *rest = path_behind_descriptor(ret_name->path, (uint32_t)trapped->target->pid,
						  &fd);
	if (rest && rest[strspn(rest, "/")]) {
		named->directory = fd;
		rest += strspn(rest, "/");
		memmove(ret_name->path, rest, strlen(rest) + 1);
	}
	/* Our own /proc/self is another's. */
	if ((rest = path_behind_directory(ret_name->path, (uint32_t)trapped->target->pid))) {
		named->directory = AT_FDCWD;
		named->path = rest;
	}
	if (changes && named->directory == AT_FDCWD && named->path[0] != '/')
		target_moves(trapped->target, tid);
	locate(trapped, ret_name);
	return true;
}

/* ---- changes ---- */

/* Inspects what a name stands for, as the process would: through its own root, directory or
 * descriptor, which leads right behind symbolic links, too, where the normalized text does not.
 * Only absolute links are followed from our root.  Returns 0 or a negative errno. */
static long inspect_named(const struct trapped *trapped, const struct named *named, bool follows,
			  struct stat *ret_stat)
{
	const struct target *target = trapped->target;
	const char *path = named->path;
	char name[32] = "cwd";
	int base = AT_FDCWD, fd;

	const char *rest = path_behind_descriptor(path, (uint32_t)target->pid, &fd);
	if (rest && !named->normal) { /* a pipe, say, that no path leads to */
		(void)snprintf(name, sizeof(name), "fd/%d", fd);
		path = rest + strspn(rest, "/");
	} else if (rest) {
		path = named->normal;
	} else if (path[0] == '/' && target->root) {
		if (!named->normal)
			return -ENAMETOOLONG;
		(void)snprintf(name, sizeof(name), "root");
		path = named->normal + strlen(target->root);
		while (*path == '/')
			path++;
	} else if (path[0] != '/' && named->directory != AT_FDCWD) {
		(void)snprintf(name, sizeof(name), "fd/%d", named->directory);
	}
	if (path && path[0] != '/') {
		base = proc_open_path(named->tid, name);
		if (base < 0)
			return base;
	}
	long error = sys_call6(SYS_newfstatat, base, (long)path, (long)ret_stat,
			       AT_EMPTY_PATH | (follows ? 0 : AT_SYMLINK_NOFOLLOW), 0, 0);
	if (base >= 0)
		(void)sys_close(base);
	return error;
}

/* Is there something by that name, before the call is made?  Where it cannot be inspected: yes. */
static bool is_there_now(const struct trapped *trapped, const struct named *named, bool follows)
{
	struct stat stat;

	exchange_note_slow(trapped->exchange);
	if (!inspection_start())
		return true;
	long error = inspect_named(trapped, named, follows, &stat);
	inspection_finish();
	return error == 0;
}

/* ---- rules ---- */

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
	struct stat stat;

	exchange_note_slow(question->trapped->exchange);
	if (!inspection_start())
		return !(question->ops & RULE_CREATE);
	long error = inspect_named(question->trapped, question->named, question->follows, &stat);
	inspection_finish();
	return error == 0;
}

/* May the call do that to a name?  ops: enum rule_op.  follows: symbolic links.  Returns 0 or a
 * negative errno that it is to fail with. */
static int ask_rules(const struct trapped *trapped, uint32_t ops, const struct named *named,
		     bool follows)
{
	struct rule_inquiry question = { trapped, named, ops, follows };
	struct rules_access access = {
		.ops = ops, .named = named, .is_there = is_there, .data = &question
	};

	/* An empty name is an error, or the descriptor's own file, which was judged when it was
	 * opened. */
	return named->path[0] ? rules_ask(trapped->supervision, trapped->target, &access) : 0;
}

/* ---- the guard ---- */

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

/* Asks whether a name may be changed, before it is.  source: RENAME: what takes its place.  Returns
 * 0 or a negative errno. */
static int ask(const struct trapped *trapped, enum journal_op op, uint32_t flags,
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
		      !is_there_now(trapped, named, false);
	struct named real;
	char path[SEGMENT_PATH_BYTES];
	if ((!is_safe || is_new) && write_may_concern(supervision, target, named) &&
	    write_identify(supervision, target, named, follows, &real, path)) {
		exchange_note_slow(trapped->exchange);
		error = guarded_ask(supervision, trapped->target, &real, kind_of(op, flags),
				    follows, source);
		if (error == 0 && target->writes)
			targets_note_writing(trapped->targets, target->pid);
	}
	if (error == 0 && supervision->changing && op != JOURNAL_LINK) {
		exchange_note_slow(trapped->exchange);
		change.exists = inspect_named(trapped, named, follows, &change.stat) == 0;
		error = supervision->changing(supervision->data, &change);
	}
	return error == 0 || exchange_is_valid(trapped->exchange) ? error : 0;
}

static bool notes_changes(const struct trapped *trapped)
{
	return (trapped->target->request.context.flags & CONTEXT_ATTACHED) &&
	       !trapped->target->invocation.ignored;
}

static void note(const struct trapped *trapped, const struct named *named, enum file_action kind)
{
	const struct context *context = &trapped->target->request.context;

	if (!notes_changes(trapped))
		return;
	if (named->normal)
		file_note_edit(trapped->supervision->segment, named->normal, context, context->role,
			       kind);
	else if (!trapped->supervision->journal) /* else the journal has it */
		segment_count(trapped->supervision->segment, COUNTER_lost_changes, 1);
}

static void count(const struct trapped *trapped, enum process_count what)
{
	process_count(trapped->supervision->segment, trapped->target->process, what);
}

static struct verdict fail(int error)
{
	return (struct verdict){ VERDICT_FAIL, error };
}

/* ---- the stations of a call about names ---- */

/* What `own` of such a call points to. */
struct about {
	const struct trapped *trapped;
	const struct named *name, *other;
};

/* Of two names each may be spoken of by another rule: the second is asked about where the first is
 * let pass. */
static bool station_rules(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	uint32_t ops, other;

	(void)operation;
	call_rules(call, &ops, &other);
	call->error = ask_rules(about->trapped, ops, about->name, call->name.follows);
	if (call->error == 0 && other)
		call->error = ask_rules(about->trapped, other, about->other, false);
	return call->error == 0;
}

static bool station_guard(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	enum journal_op op = OPERATIONS[operation].record;
	bool swaps = operation == OPERATION_RENAME && (call->flags & RENAME_EXCHANGE);

	if (operation == OPERATION_RENAME || operation == OPERATION_LINK)
		call->error = ask(about->trapped, op, call->flags, about->other, false,
				  about->name);
	else
		call->error = ask(about->trapped, op, call->flags, about->name, call->name.follows,
				  NULL);
	if (call->error == 0 && swaps)
		call->error = ask(about->trapped, op, call->flags, about->name, false,
				  about->other);
	return call->error == 0;
}

static void station_observe(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	bool moves = operation == OPERATION_RENAME;
	enum call_presence presence = PRESENCE_NONE;
	enum file_action action;

	if (call->error)
		return;
	count(about->trapped, PROCESS_CHANGES);
	if ((moves || operation == OPERATION_DELETE) &&
	    !is_there_now(about->trapped, about->name, false))
		return;
	if (moves && is_there_now(about->trapped, about->other, false))
		presence = PRESENCE_THERE;
	if (call_action_of_name(call, &action))
		note(about->trapped, about->name, action);
	if (call_action_of_other(call, presence, &action))
		note(about->trapped, about->other, action);
}

static void station_journal(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	const struct supervision *supervision = about->trapped->supervision;
	enum journal_op op = OPERATIONS[operation].record;

	if (about->other)
		record_two(supervision, about->trapped->target, op, about->name, about->other,
			   call->flags, -call->error);
	else
		record_call(supervision, about->trapped->target, op, about->name, call->flags,
			    call->amount, -call->error);
}

#include "shim/call/order.h"

static struct verdict judge_names(const struct trapped *trapped)
{
	const struct system_call *form = trapped->form;
	bool has_other = form->other_path != NO_PLACE;
	struct name name, other;
	struct about about = { trapped, &name.named, has_other ? &other.named : NULL };
	struct call call;

	call_of_number(form, trapped->exchange->call->data.args, &call);
	call.own = &about;
	/* What a symbolic link points to is a text. */
	if (!read_name(trapped, form->directory, form->path, true, &name) ||
	    (has_other && !read_name(trapped, form->other_directory, form->other_path,
				     call.operation != OPERATION_SYMLINK, &other)) ||
	    !exchange_is_valid(trapped->exchange))
		return PASS;
	call.name.path = name.named.path;
	call.other.path = has_other ? other.named.path : NULL;
	(void)order_may(&call, call.operation);
	order_came_back(&call, call.operation);
	return call.error < 0 ? fail(call.error) : PASS;
}

/* The current directory is about to change. */
static struct verdict judge_move(const struct trapped *trapped)
{
	const struct system_call *form = trapped->form;
	struct target *target = trapped->target;
	pid_t tid = (pid_t)trapped->exchange->call->pid;
	struct name name;
	bool is_read;

	if (form->path != NO_PLACE) {
		is_read = read_name(trapped, form->directory, form->path, false, &name);
	} else {
		name.named = (struct named){ .tid = tid, .directory = AT_FDCWD, .path = name.path };
		is_read = proc_directory(tid, (int)argument(trapped, form->directory), name.path,
					 sizeof(name.path)) > 0;
	}
	if (is_read && exchange_is_valid(trapped->exchange) && target->way == WAY_SUPERVISED)
		record_call(trapped->supervision, target, JOURNAL_CHDIR, &name.named, 0, 0, 0);
	target_moves(target, tid);
	return PASS;
}

/* ---- opening ---- */

static struct verdict answer_viewer(const struct trapped *trapped, const struct named *named,
				    uint32_t flags)
{
	const struct supervision *supervision = trapped->supervision;
	struct target *target = trapped->target;
	struct viewer_answer view;
	uint64_t saved = 0;
	int number = -1;

	exchange_note_slow(trapped->exchange);
	viewer_open(supervision, target, named, flags, &view);
	if (view.fd >= 0) {
		number = exchange_add(trapped->exchange, view.fd, flags & O_CLOEXEC);
		(void)close(view.fd);
		if (number < 0)
			viewer_undo(supervision, target, &view);
		else if (view.answer.decision == DECISION_NOTICE)
			saved = view.details.size_bytes - view.answer.notice_bytes;
	} else if (!exchange_is_valid(trapped->exchange)) {
		return PASS;
	}
	/* The process may go on by now, but not end: that, too, is for the thread that holds it
	 * here. */
	if (view.is_decided)
		record_viewed(supervision, target, named, flags, number, &view.answer,
			      &view.details, saved);
	else
		record_call(supervision, target, JOURNAL_OPEN, named, flags, 0, 0);
	return number >= 0 ? (struct verdict){ VERDICT_ANSWERED, 0 } : PASS;
}

/* Does its scope know what it reads? */
static bool reads_files(const struct target *target)
{
	return target->request.context.role == ROLE_AGENT || target->invocation.shows;
}

/* One open, as its stations need it. */
struct opening {
	const struct trapped *trapped;
	struct name name;
	uint32_t flags;
	bool has_how;        /* openat2 */
	bool is_own;         /* the session's own files, by its own code */
	bool makes_nameless; /* O_TMPFILE */
	bool lists, writes;
	bool is_there; /* writes: the file, before the call */
};

/* RESOLVE_IN_ROOT: the root is where the directory is. */
static void resolve_in_root(const struct trapped *trapped, struct name *name)
{
	name->named.directory = directory_of(trapped, trapped->form->directory);
	name->named.path = name->path;
	size_t slashes = strspn(name->path, "/");
	memmove(name->path, name->path + slashes, strlen(name->path + slashes) + 1);
	if (!name->path[0])
		(void)snprintf(name->path, sizeof(name->path), ".");
	locate(trapped, name);
}

/* Reads the call's flags and its name.  Returns false if the process's memory cannot be read. */
static bool read_opening(const struct trapped *trapped, struct opening *opening)
{
	const struct system_call *form = trapped->form;
	uint64_t how[3] = { 0 };
	uint32_t flags = system_call_flags(form, trapped->exchange->call->data.args);
	struct name *name = &opening->name;

	opening->trapped = trapped;
	opening->has_how = form->number == SYS_openat2;
	opening->is_there = false;
	if (opening->has_how) { /* struct open_how: flags, mode, resolve */
		ssize_t got = memory_read((pid_t)trapped->exchange->call->pid, argument(trapped, 2),
					  how, sizeof(how));
		if (got < 0 && got != -EFAULT && got != -ESRCH)
			segment_count(trapped->supervision->segment, COUNTER_calls_unjudged, 1);
		if (got != sizeof(how))
			return false;
		flags = (uint32_t)how[0];
	}
	opening->flags = flags;
	opening->makes_nameless = (flags & O_TMPFILE) == O_TMPFILE;
	opening->lists = (flags & O_DIRECTORY) && !opening->makes_nameless;
	opening->writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
	if (!read_name(trapped, form->directory, form->path, opening->writes, name))
		return false;
	if (opening->has_how && (how[2] & RESOLVE_IN_ROOT) && name->path[0] == '/')
		resolve_in_root(trapped, name);
	opening->is_own = !(flags & O_PATH) && name->named.normal &&
			  rules_is_session(trapped->supervision, trapped->target->pid,
					   name->named.normal, flags);
	return true;
}

static bool opens_content(const struct opening *opening)
{
	return !(opening->flags & O_PATH);
}

/* Not the session's files, which the library maps itself. */
static bool is_not_by_library(const struct opening *opening)
{
	return !(opening->is_own && opening->trapped->supervision->has_library);
}

/* Does the call still wait?  Where only a record depends on it, that is not inspected again. */
static bool still_waits(const struct opening *opening)
{
	const struct trapped *trapped = opening->trapped;
	const struct target *target = trapped->target;
	bool is_plain = !opening->writes && !target->request.is_viewer && !reads_files(target);

	return (is_plain &&
		target_is_sure(trapped->targets, target, trapped->exchange->received_ns)) ||
	       exchange_is_valid(trapped->exchange);
}

/* What has to hold for an open to be judged, in the order in which it is asked.  Where one does not
 * hold, the call passes as it is. */
#define OPEN_CHECKS(CHECK) CHECK(opens_content) CHECK(is_not_by_library) CHECK(still_waits)

static bool is_judged(const struct opening *opening)
{
#define CHECK(function) \
	if (!function(opening)) \
		return false;
	OPEN_CHECKS(CHECK)
#undef CHECK
	return true;
}

/* Returns 0, or the error of a rule that denies it. */
static int ask_rules_of_open(const struct opening *opening)
{
	uint32_t ops = rule_ops_of_open((int)opening->flags);

	return ask_rules(opening->trapped, ops, &opening->name.named,
			 !(opening->flags & O_NOFOLLOW) && !(ops & RULE_ONLY_NEW));
}

/* Returns 0, or the error of a guard that refuses it. */
static int guard_open(struct opening *opening)
{
	const struct trapped *trapped = opening->trapped;
	const struct named *named = &opening->name.named;
	bool follows = !(opening->flags & O_NOFOLLOW);

	opening->is_there = is_there_now(trapped, named, follows);
	int error = ask(trapped, JOURNAL_OPEN, opening->flags, named, follows, NULL);
	if (error < 0)
		return error;
	if (!opening->is_there && (opening->flags & O_CREAT))
		note(trapped, named, FILE_ACTION_CREATE);
	else if (opening->is_there && (opening->flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))
		note(trapped, named, FILE_ACTION_CHANGE);
	return 0;
}

static struct verdict judge_open(const struct trapped *trapped)
{
	struct target *target = trapped->target;
	struct opening opening;
	const struct named *named = &opening.name.named;
	uint32_t marks = 0;
	int error;

	if (!read_opening(trapped, &opening) || !is_judged(&opening))
		return PASS;
	if (!opening.is_own)
		count(trapped, opening.lists    ? PROCESS_LISTINGS
			       : opening.writes ? PROCESS_OPENS_WRITE
						: PROCESS_OPENS);
	error = ask_rules_of_open(&opening);
	if (error < 0) {
		record_call(trapped->supervision, target, JOURNAL_OPEN, named, opening.flags, 0,
			    -error);
		return fail(error);
	}
	if (opening.is_own)
		return PASS;
	if (!opening.writes && target->request.is_viewer && target->way == WAY_SUPERVISED &&
	    !opening.has_how)
		return answer_viewer(trapped, named, opening.flags);
	if (opening.writes && !opening.makes_nameless) {
		error = guard_open(&opening);
		marks = opening.is_there          ? JOURNAL_WAS_THERE
			: opening.flags & O_CREAT ? JOURNAL_MADE
						  : 0;
	} else if (!opening.writes && !opening.lists && reads_files(target)) {
		exchange_note_slow(trapped->exchange);
		write_read(trapped->supervision, target, named);
	}
	record_open(trapped->supervision, target, named, opening.flags, -error, marks);
	return error < 0 ? fail(error) : PASS;
}

/* ---- programs ---- */

/* Says once of each program that its setuid bit has no effect below no_new_privs. */
static void report_setuid(const struct supervision *supervision, const char *path,
			  const struct stat *stat)
{
	enum { REPORTED_MAX = 64 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t reported[REPORTED_MAX];
	static int reported_count;
	char line[SEGMENT_PATH_BYTES + 160], name[4 * SEGMENT_PATH_BYTES];
	bool is_new = true;

	if (!supervision->no_new_privs || !supervision->report ||
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
	if (!read_name(trapped, form->directory, form->path, false, &name))
		return PASS;
	pid_t tid = name.named.tid;
	size_t bytes = memory_words(tid, argument(trapped, form->other_path), words, sizeof(words),
				    &cut);
	if (!exchange_is_valid(trapped->exchange))
		return PASS;
	/* A name that is looked for along PATH is tried in each directory: where there is nothing,
	 * nothing is announced.  It is looked for all the same whether another program came of it:
	 * what was seen here may not be what the kernel sees. */
	bool is_there = true, is_spared = false;
	if (name.named.normal && inspection_start()) {
		long error = inspect_named(trapped, &name.named, true, &stat);
		inspection_finish();
		is_there = error != -ENOENT && error != -ENOTDIR;
		if (error == 0) {
			report_setuid(supervision, name.path, &stat);
			is_spared = rules_spare(supervision, &stat);
		}
	}
	/* What passed libc was announced by the library; in another namespace of processes by
	 * numbers that mean nothing here. */
	bool by_library = target->way == WAY_LIBRARY &&
			  target_is_library_code(target,
						 trapped->exchange->call->data.instruction_pointer);
	bool elsewhere = by_library && target_is_elsewhere(target);
	bool announce = is_there && (!by_library || elsewhere);
	if (elsewhere)
		target_inspect_library(trapped->targets, target);
	int error = by_library || is_spared ? 0 : ask_rules(trapped, RULE_EXEC, &name.named, true);
	if (error < 0)
		return fail(error);
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
	process_exit(segment, target->process);
}

static struct verdict judge_exit(const struct trapped *trapped)
{
	struct target *target = trapped->target;

	if (target->way == WAY_SUPERVISED)
		finish_process(trapped, (int)argument(trapped, 0));
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
	if (target->way != WAY_BEFORE_EXEC)
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
	if (target->writes) {
		exchange_note_slow(trapped->exchange);
		guarded_complete(trapped->supervision, target, (pid_t)call->pid);
	}
	switch (operation) {
	case OPERATION_OPEN:
		return judge_open(trapped);
	case OPERATION_START:
		return judge_exec(trapped);
	case OPERATION_END:
		return judge_exit(trapped);
	case OPERATION_DELETE:
	case OPERATION_REMOVE_DIRECTORY:
	case OPERATION_MAKE:
	case OPERATION_TRUNCATE:
	case OPERATION_RENAME:
	case OPERATION_LINK:
	case OPERATION_SYMLINK:
		return judge_names(trapped);
	case OPERATION_CHANGE_DIRECTORY:
		return judge_move(trapped);
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
		trapped.target->confined = true;
	} else if (trapped.form->operation == OPERATION_CHANGE_ROOT) {
		trapped.target->root_changes = true;
		target_moves(trapped.target, (pid_t)call->pid);
	} else {
		verdict = judge_known(&trapped);
	}
	if (trapped.target)
		target_release(targets, trapped.target);
	return verdict;
}
