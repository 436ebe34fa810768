/* One trapped call, while it is inspected: see trapped.h. */
#include "shim/supervise/trapped.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/supervise/directory.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/record.h"
#include "shim/supervise/rules.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

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

void trapped_locate(const struct trapped *trapped, struct name *name)
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

void trapped_give_up(const struct trapped *trapped)
{
	const struct supervision *supervision = trapped->supervision;

	segment_count(supervision->segment, COUNTER_calls_unjudged, 1);
	/* No rule speaks of a change of directory. */
	if (supervision->is_strict && trapped->form->operation != OPERATION_CHANGE_DIRECTORY) {
		rules_refuse(supervision, trapped->target);
		trapped->exchange->refusal = -EACCES;
	}
}

bool trapped_name(const struct trapped *trapped, int directory_at, int path_at, bool changes,
		  struct name *ret_name)
{
	struct named *named = &ret_name->named;
	pid_t tid = (pid_t)trapped->exchange->call->pid;

	*named = (struct named){ .tid = tid,
				 .directory = trapped_directory(trapped, directory_at) };
	ssize_t length = memory_text(tid, trapped_argument(trapped, path_at), ret_name->path,
				     sizeof(ret_name->path));
	if (length < 0) {
		if (length != -EFAULT && length != -ENAMETOOLONG && length != -ESRCH)
			trapped_give_up(trapped);
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
	trapped_locate(trapped, ret_name);
	return true;
}

long trapped_inspect(const struct trapped *trapped, const struct named *named, bool follows,
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

bool trapped_is_there(const struct trapped *trapped, const struct named *named, bool follows,
		      bool otherwise)
{
	struct stat stat;

	exchange_note_slow(trapped->exchange);
	if (!inspection_start())
		return otherwise;
	long error = trapped_inspect(trapped, named, follows, &stat);
	inspection_finish();
	return error == 0;
}

static bool notes_changes(const struct trapped *trapped)
{
	return (trapped->target->request.context.flags & CONTEXT_ATTACHED) &&
	       !trapped->target->invocation.ignored;
}

void trapped_note(const struct trapped *trapped, const struct named *named, enum file_action kind)
{
	const struct context *context = &trapped->target->request.context;

	if (!notes_changes(trapped))
		return;
	if (named->normal)
		file_note_edit(trapped->supervision->segment, named->normal, context, context->role,
			       kind);
	else if (!record_is_possible(trapped->supervision)) /* else the journal has it */
		segment_count(trapped->supervision->segment, COUNTER_lost_changes, 1);
}

void trapped_count(const struct trapped *trapped, enum process_count what)
{
	process_count(trapped->supervision->segment, trapped->target->process, what);
}
