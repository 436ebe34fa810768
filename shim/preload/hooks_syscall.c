/*
 * syscall(2): programs that call the kernel by number through libc (Node: statx, copy_file_range)
 * open, read, name and start things too.  The real call first; then what it means, as in the
 * function of that name.
 */
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "shim/preload/keep_queue.h"
#include "shim/preload/memory.h"
#include "shim/preload/real.h"
#include "shim/preload/sandbox.h"
#include "shim/preload/stations.h"

#define TEXT(place) ((const char *)arguments[place])
#define INT(place) ((int)arguments[place])
#define WORD(place) ((unsigned)arguments[place])
#define LONG(place) (arguments[place])
#define SIZE(place) ((size_t)arguments[place])
#define DATA(place) ((const void *)arguments[place])

static int directory_of(int place, const long *arguments)
{
	return place == NO_PLACE ? AT_FDCWD : INT(place);
}

static const char *path_of(int place, const long *arguments)
{
	return place == NO_PLACE ? NULL : TEXT(place);
}

/* A call about names came back: as from its wrapper, but that nothing was asked. */
static void names_came_back(const struct system_call *form, const long *arguments, int error)
{
	struct call call;

	call_of_number(form, arguments, &call);
	call.error = error;
	/* Some errors of mknod(2) come before the path is read. */
	if (error && call.operation == OPERATION_MAKE && !form->more_flags)
		call.name.path = NULL;
	station_observe(&call, call.operation);
	station_journal(&call, call.operation);
}

/* A call about data.  Where the bytes are that were read is not asked: calls by number are never
 * answered. */
static inline __attribute__((always_inline)) struct call data_of_number(
	const struct system_call *form, const long *arguments, enum operation operation)
{
	struct call call = {
		.operation = operation,
		.by_number = true,
		.name = { .directory = form->directory == NO_PLACE ? -1 : INT(form->directory) },
	};

	switch (operation) {
	case OPERATION_WRITE:
		call.bytes.in_parts = form->number != SYS_write && form->number != SYS_pwrite64;
		call.bytes.memory = (void *)LONG(1);
		call.bytes.size_bytes = SIZE(2);
		call.bytes.parts = DATA(1);
		call.bytes.part_count = INT(2);
		break;
	case OPERATION_COPY:
		call.other.directory = INT(form->other_directory);
		break;
	case OPERATION_MAP:
		call.flags = WORD(3);
		call.bytes.size_bytes = SIZE(1);
		call.bytes.protection = INT(2);
		call.bytes.offset = LONG(5);
		break;
	case OPERATION_PROTECT:
		call.bytes.memory = (void *)LONG(0);
		call.bytes.size_bytes = SIZE(1);
		call.bytes.protection = INT(2);
		break;
	case OPERATION_RESIZE:
		call.amount = (uint64_t)LONG(1);
		break;
	case OPERATION_ALLOCATE:
		call.flags = JOURNAL_TRUNCATE_ALLOCATES;
		call.amount = (uint64_t)LONG(2) + (uint64_t)LONG(3);
		break;
	default:
		break;
	}
	return call;
}

static inline bool data_may(const struct system_call *form, const long *arguments)
{
	switch ((enum operation)form->operation) {
#define ASK(OPERATION) \
	case OPERATION_##OPERATION: { \
		struct call call = data_of_number(form, arguments, OPERATION_##OPERATION); \
		return order_may(&call, OPERATION_##OPERATION); \
	}
		ASK(WRITE)
		ASK(COPY)
		ASK(MAP)
		ASK(PROTECT)
		ASK(RESIZE)
		ASK(ALLOCATE)
#undef ASK
	case OPERATION_QUEUE:
		if (keep_any())
			keep_submitted(DATA(2), LONG(1));
		return true;
	default:
		return true;
	}
}

static inline __attribute__((always_inline)) void data_came_back(const struct system_call *form,
								 const long *arguments,
								 enum operation operation, long ret)
{
	struct call call = data_of_number(form, arguments, operation);

	call.error = ret < 0 ? -1 : 0;
	call.bytes.moved = ret;
	call.bytes.memory = (void *)ret;
	station_kept(&call, operation);
	observe_data(&call, operation);
	journal_data(&call, operation);
}

/* What a call about files that are named, or about a file's length, meant, whether it succeeded or not. */
static void was_named(const struct system_call *call, const long *arguments, long ret)
{
	const char *path = path_of(call->path, arguments);
	int directory = directory_of(call->directory, arguments), error = ret < 0 ? -1 : 0;

	if (operation_is_of_names(call->operation)) {
		names_came_back(call, arguments, error);
		return;
	}
	switch ((enum operation)call->operation) {
	case OPERATION_RESIZE:
		data_came_back(call, arguments, OPERATION_RESIZE, ret);
		break;
	case OPERATION_CHANGE_DIRECTORY:
		call_moved(error, call->directory == NO_PLACE ? -1 : directory, path);
		break;
	default:
		break;
	}
}

static inline void descriptor_came_back(int fd, uint32_t flags, long ret, enum operation operation)
{
	struct call call = descriptor_call(operation, fd);

	call.flags = flags;
	call.descriptor = (int)ret;
	order_came_back(&call, operation);
}

static void was_sandboxed(const struct system_call *call, const long *arguments)
{
	bool by_prctl = call->number == SYS_prctl;

	if (by_prctl && LONG(0) != PR_SET_SECCOMP)
		return;
	if (by_prctl ? LONG(1) == SECCOMP_MODE_STRICT : LONG(0) == SECCOMP_SET_MODE_STRICT)
		call_sandboxed_strictly();
	else if (by_prctl || LONG(0) == SECCOMP_SET_MODE_FILTER)
		call_sandboxed();
}

/* What any other call that succeeded meant. */
static void was_called(const struct system_call *call, const long *arguments, long ret)
{
	int fd = call->directory == NO_PLACE ? -1 : INT(call->directory);

	switch ((enum operation)call->operation) {
	case OPERATION_DUPLICATE:
		descriptor_came_back(fd, 0, ret, OPERATION_DUPLICATE);
		break;
	case OPERATION_READ:
		data_came_back(call, arguments, OPERATION_READ, ret);
		break;
	case OPERATION_WRITE:
		data_came_back(call, arguments, OPERATION_WRITE, ret);
		break;
	case OPERATION_COPY:
		data_came_back(call, arguments, OPERATION_COPY, ret);
		break;
	case OPERATION_MAP:
		data_came_back(call, arguments, OPERATION_MAP, ret);
		break;
	case OPERATION_REMAP:
		if (keep_any())
			keep_remapped(DATA(0), (void *)ret, SIZE(2));
		break;
	case OPERATION_ALLOCATE:
		data_came_back(call, arguments, OPERATION_ALLOCATE, ret);
		break;
	case OPERATION_QUEUE:
		data_came_back(call, arguments, OPERATION_QUEUE, ret);
		break;
	case OPERATION_CONTROL:
		descriptor_came_back(fd, WORD(1), ret, OPERATION_CONTROL);
		break;
	case OPERATION_SANDBOX:
		was_sandboxed(call, arguments);
		break;
	case OPERATION_RING:
		if (call->number == SYS_io_uring_setup)
			ring_made((int)ret, DATA(1));
		else
			ring_entered(fd, ret, WORD(3));
		break;
	default:
		break;
	}
}

static int set_times(const long *arguments)
{
	const struct timespec *times = DATA(2);
	return TEXT(1) ? utimensat(INT(0), TEXT(1), times, INT(3)) : futimens(INT(0), times);
}

/* Calls that rules or the guard may refuse are made by the functions of their names, which ask:
 * libc's pass the same arguments on.  Where libc's function says no by itself to what the kernel
 * takes, or the other way round, the kernel is asked as before.  False: it is to be. */
static bool is_made_by_name(const struct system_call *call, const long *arguments, long *ret)
{
	if (!(OPERATIONS[call->operation].stations & STATION_GUARD) && !shim.rules.ops &&
	    !(shim.keeps && (OPERATIONS[call->operation].stations & STATION_KEEP)))
		return false;
	if (call->number == SYS_utimensat && !TEXT(1) && LONG(3)) /* refused by the kernel */
		return false;
	switch (call->number) {
#define SYSTEM_CALL(...)
#define SYSTEM_CALL_BY(name, operation, trap, directory, path, other_directory, other_path, flags, \
		       more_flags, call_by_name) \
	case SYS_##name: \
		*ret = call_by_name; \
		return true;
#include "shim/call/system_calls.def"
#undef SYSTEM_CALL
#undef SYSTEM_CALL_BY
	default:
		return false;
	}
}

/* Makes an open, by the flags that the guard left of it: then creat(2) becomes the open(2) that it
 * stands for.  how: of openat2(2), where it was judged. */
static int open_by_kernel(const struct system_call *form, const long *given,
			  const struct write_check *check, uint32_t flags, struct open_how *how)
{
	uint32_t now = (uint32_t)write_check_flags(check, (int)flags);
	long number = form->number, arguments[6];

	memcpy(arguments, given, sizeof(arguments));
	if (now != flags && number == SYS_openat2) {
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): it was judged, so it was copied */
		how->flags &= ~(uint64_t)O_TRUNC;
		arguments[2] = (long)how;
	} else if (now != flags && form->flags != NO_PLACE) {
		arguments[form->flags] = (long)now;
	}
#ifdef SYS_open
	if (now != flags && number == SYS_creat) {
		number = SYS_open;
		arguments[2] = arguments[1];
		arguments[1] = (long)now;
	}
#endif
	return (int)REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
				  arguments[4], arguments[5]);
}

/* Does anything ask before a call?  What a viewer writes is untrackable. */
static inline bool asks_before(void)
{
	return (shim.guards && !shim.views) || shim.keeps || shim.rules.ops;
}

/* The flags of openat2(2) are in the caller's memory.  Only the form that is known is judged in
 * full, and no name that begins at another root.  ret_how: what was judged. */
static bool may_open_by_how(const long *arguments, struct call *call, struct open_how *ret_how)
{
	const struct open_how *how = DATA(2);

	if (!asks_before() || !launch_is_readable(how))
		return true;
	call_set_open_flags(call, (uint32_t)how->flags);
	if (SIZE(3) != sizeof(*how) || !launch_is_readable(&how->resolve))
		return order_may_by_rules(call, call->operation);
	*ret_how = *how;
	if (ret_how->resolve & RESOLVE_IN_ROOT)
		return order_may_by_rules(call, call->operation);
	call_set_open_flags(call, (uint32_t)ret_how->flags);
	return order_may(call, call->operation);
}

/* An open, which is left to the kernel: libc's functions can be cancelled (pthreads(7)), this one
 * cannot. */
static long open_by_number(const struct system_call *form, const long *arguments)
{
	bool has_how = form->number == SYS_openat2;
	struct open_how how;
	struct open_work own;
	struct call call;

	own.check.path = NULL;
	own.by_stream = own.is_judged = own.has_facts = false;
	call_of_number(form, arguments, &call);
	call.own = &own;
	call.error = -1;
	if (has_how ? may_open_by_how(arguments, &call, &how) : order_may(&call, call.operation)) {
		call.error = open_came_back(
			&call, open_by_kernel(form, arguments, &own.check, call.flags, &how));
		if (has_how) /* one that failed proved no memory readable */
			call_set_open_flags(
				&call,
				call.error ? 0 : (uint32_t)((struct open_how *)DATA(2))->flags);
	}
	order_came_back(&call, call.operation);
	station_guarded(&call, call.operation);
	return call.descriptor;
}

/* Programs are started by the functions of libc's, which prepare what the new one needs; a sandbox begins likewise. */
static bool is_start(long number, const long *arguments, long *ret)
{
	if (number == SYS_execve)
		*ret = execve(TEXT(0), (char *const *)LONG(1), (char *const *)LONG(2));
	else if (number == SYS_execveat)
		*ret = execveat(INT(0), TEXT(1), (char *const *)LONG(2), (char *const *)LONG(3),
				INT(4));
	else if (number == SYS_prctl && LONG(0) == PR_SET_NO_NEW_PRIVS)
		*ret = prctl(PR_SET_NO_NEW_PRIVS, LONG(1), LONG(2), LONG(3), LONG(4));
	else
		return false;
	return true;
}

/* A call that closes: what it closes is over before the kernel is asked. */
static long close_by_number(const struct system_call *form, const long *arguments)
{
	struct close_work own;
	struct call call = close_call((enum operation)form->operation, INT(0), INT(1), NULL, &own);
	bool replaces = form->operation == OPERATION_REPLACE;

	call.by_number = true;
	call.amount = WORD(1);
	if (replaces)
		replace_begins(&call);
	else if (form->number != SYS_close_range || !(WORD(2) & CLOSE_RANGE_CLOEXEC))
		order_closes(&call, call.operation);
	long ret = REAL(syscall)(form->number, arguments[0], arguments[1], arguments[2],
				 arguments[3], arguments[4], arguments[5]);
	if (!replaces)
		return close_ends(ret != 0 ? -1 : 0, &own);
	if (ret >= 0)
		replace_ends(&call, (int)ret);
	else
		(void)close_ends(0, &own);
	return ret;
}

/* Calls that are made here between their stations, or by the function of their name.  False: the
 * kernel is to be asked. */
static bool is_made_here(const struct system_call *call, const long *arguments, long *ret)
{
	if (is_start(call->number, arguments, ret))
		return true;
	if (call->operation == OPERATION_CONFINE)
		sandbox_begins(false);
	if (!shim.on)
		return false;
	switch ((enum operation)call->operation) {
	case OPERATION_OPEN:
	case OPERATION_OPEN_HANDLE:
		*ret = open_by_number(call, arguments);
		return true;
	case OPERATION_CLOSE:
	case OPERATION_CLOSE_MANY:
	case OPERATION_REPLACE:
		*ret = close_by_number(call, arguments);
		return true;
	default:
		break;
	}
	if (!asks_before())
		return false;
	if (is_made_by_name(call, arguments, ret))
		return true;
	*ret = -1;
	return !data_may(call, arguments);
}

EXPORT long syscall(long number, ...)
{
	const struct system_call *call = system_call_find(number);
	long arguments[6], ret;
	va_list list;

	/* As libc's own: six words, whatever the caller passed (psABI: registers, then the
	 * stack). */
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);

	if (call && is_made_here(call, arguments, &ret))
		return ret;
	if (number == SYS_seccomp || (number == SYS_prctl && LONG(0) == PR_SET_SECCOMP))
		call_may_be_sandboxed();
	ret = REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
			    arguments[4], arguments[5]);
	if (call && shim.on) {
		was_named(call, arguments, ret);
		if (ret >= 0)
			was_called(call, arguments, ret);
	}
	return ret;
}
