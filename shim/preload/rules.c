/*
 * Rules inside a process: their verdict on a call, before it is made (tracker/guard/rule.h).
 *
 * In a process that no rule speaks of nothing here is reached.  Where one does, a call of that kind
 * costs a check whether its path can be read, and one at /proc where it is relative to a directory's
 * descriptor; a hit costs what it takes to report it.
 * Between vfork and exec too: then the current directory is asked for, which may not be the
 * parent's.
 */
#include "shim/preload/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "shim/keep/scratch.h"
#include "shim/preload/directory.h"
#include "shim/preload/follow/reader.h"
#include "shim/preload/launch.h"
#include "shim/preload/memory.h"
#include "shim/preload/message.h"
#include "shim/preload/program.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/guard/protected.h"
#include "tracker/path/path.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

extern char **environ;

enum { SAID_MAX = 256 };

/* A path about to be accessed, and the verdict on that. */
struct asked {
	char *path; /* scratch, absolute and normalized; NULL: it is not judged */
	struct rule_question question;
	struct rule_answer answer;
};

/* What was reported: hashes of rule and path, 0: free. Where it is full nothing more is
 * reported. */
static uint64_t said[SAID_MAX];

/* Is it the first time for this rule and path? */
static bool is_new(const struct asked *asked)
{
	uint64_t key = rule_message_key(&shim.segment, &asked->answer, asked->path);

	for (uint32_t i = 0; i < SAID_MAX; i++) {
		uint64_t *place = &said[(key + i) % SAID_MAX];
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(place, &there, key, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
		if (there == key)
			return false;
	}
	return false;
}

static void report(const struct asked *asked)
{
	struct stat stream;

	if (asked->answer.action != RULE_ACTION_WARN && asked->answer.action != RULE_ACTION_DENY)
		return;
	if (!is_new(asked) || !message_may(&stream))
		return;
	char *line = scratch_acquire();
	if (line)
		message_line(&stream, line,
			     rule_format_message(&shim.segment, &asked->answer, asked->path, line,
						 SEGMENT_PATH_BYTES));
	scratch_release(line);
}

static void finish(struct asked *asked)
{
	scratch_release(asked->path);
	asked->path = NULL;
}

static void judge(struct asked *asked)
{
	asked->question.path = asked->path;
	rule_judge(&shim.segment, &shim.rules, &asked->question, &asked->answer);
	if (asked->answer.action == RULE_ACTION_OFF)
		finish(asked);
}

/* Rules could hold, and cannot be asked: the call is let pass. */
static void could_not_ask(struct asked *asked)
{
	segment_count(&shim.segment, COUNTER_calls_unjudged, 1);
	finish(asked);
}

static void complete(struct asked *asked, bool is_there)
{
	rule_complete(&shim.segment, &shim.rules, &asked->question, is_there, &asked->answer);
	if (asked->answer.action == RULE_ACTION_OFF)
		finish(asked);
}

static bool is_denied(const struct asked *asked)
{
	return asked->path && asked->answer.action == RULE_ACTION_DENY;
}

/* A rule that denies is the answer, whatever others said. */
static void deny(struct asked *asked, char *path, const struct rule_answer *answer)
{
	finish(asked);
	asked->path = path;
	asked->answer = *answer;
}

/* The verdict on the file that is open by a descriptor, by whichever name it was found. */
static bool ask_descriptor(struct asked *asked, uint32_t ops, int fd)
{
	const struct protected_question question = { &shim.rules, ops, fd, true };
	struct rule_answer answer;
	char *path = scratch_acquire();

	if (!path) {
		could_not_ask(asked);
		return false;
	}
	bool denied = protected_judge(&shim.segment, &question, path, &answer);
	if (denied)
		deny(asked, path, &answer);
	else
		scratch_release(path);
	return denied;
}

/* A file that is about to be made: where its directory is, as the kernel knows that. */
static void ask_new(struct asked *asked, uint32_t ops, int directory, const char *path)
{
	struct rule_question question = { .ops = rule_ops_of_file(ops), .denies = true };
	struct rule_answer answer = { .action = RULE_ACTION_OFF };
	char *real = scratch_acquire();

	question.path = real;
	if (real && change_identify(directory, path, false, real, NULL))
		rule_judge(&shim.segment, &shim.rules, &question, &answer);
	answer.needs_lookup = false;
	if (answer.action == RULE_ACTION_DENY)
		deny(asked, real, &answer);
	else
		scratch_release(real);
}

/* The verdict on what a name stands for. */
static void ask_file(struct asked *asked, uint32_t ops, int directory, const char *path,
		     bool follows)
{
	int fd = sys_openat(directory, path, O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW), 0);

	if (fd >= 0) {
		(void)ask_descriptor(asked, ops, fd);
		(void)sys_close(fd);
	} else if (fd == -ENOENT && (ops & RULE_CREATE) && !in_vfork_child()) {
		ask_new(asked, ops, directory, path);
	}
}

/* A descriptor's own name in /proc, of a pipe or a socket: no rule speaks of that.  text: room for a
 * path. */
static bool is_nameless(const char *path, char *text)
{
	int fd;
	const char *rest = path_behind_descriptor(path, 0, &fd);

	return rest && !rest[0] && subject_link(SUBJECT_SELF, fd, text, SEGMENT_PATH_BYTES) > 0 &&
	       text[0] != '/';
}

/* The rules' verdict on a path as it was given.  follows: the call goes through a symbolic link at
 * its end. */
static void ask_name(struct asked *asked, uint32_t ops, int directory, const char *path,
		     bool follows)
{
	struct stat stat;

	*asked = (struct asked){ .question.ops = ops };
	/* What is not there, or empty, the kernel will refuse. */
	if (!rule_may_hold(&shim.rules, ops) || !shim.on || shim.sandboxed || !path ||
	    !launch_is_text(path) || !*path)
		return;
	asked->path = scratch_acquire();
	if (!asked->path || !change_resolve(directory, path, asked->path)) {
		if (asked->path && is_nameless(path, asked->path))
			finish(asked);
		else
			could_not_ask(asked);
		return;
	}
	judge(asked);
	if (asked->path && asked->answer.needs_lookup)
		complete(asked, sys_call6(SYS_newfstatat, directory, (long)path, (long)&stat,
					  follows ? 0 : AT_SYMLINK_NOFOLLOW, 0, 0) == 0);
}

/* The same, and on the file, where a rule that denies may know that. */
static void ask(struct asked *asked, uint32_t ops, int directory, const char *path, bool follows)
{
	ask_name(asked, ops, directory, path, follows);
	if (rule_denies_file(&shim.rules, ops) && !is_denied(asked) && shim.on && !shim.sandboxed &&
	    path && launch_is_text(path))
		ask_file(asked, ops, directory, path, follows);
}

/* Logs the verdict on a path, and forgets it. */
static void log_rule(struct asked *asked)
{
	if (!asked->path)
		return;
	reader_untrackable();
	rule_count(&shim.segment, &asked->answer);
	record_ruled(asked->path, &asked->answer);
	report(asked);
	finish(asked);
}

static bool obey(struct asked *asked)
{
	bool denied = is_denied(asked);

	log_rule(asked);
	if (denied)
		errno = EACCES;
	return !denied;
}

bool rules_let(uint32_t ops, int directory, const char *path, bool follows)
{
	struct asked asked;

	/* fchownat(2) and similar: the descriptor itself */
	if (ops == RULE_METADATA && directory >= 0 && path && launch_is_text(path) && !*path)
		return rules_let_descriptor(ops, directory);
	ask(&asked, ops, directory, path, follows);
	return obey(&asked);
}

bool rules_let_name(uint32_t ops, int directory, const char *path, bool follows)
{
	struct asked asked;

	ask_name(&asked, ops, directory, path, follows);
	return obey(&asked);
}

bool rules_let_opened(uint32_t ops, int fd)
{
	struct asked asked = { .question.ops = ops };

	if (!shim.on || shim.sandboxed || !ask_descriptor(&asked, ops, fd))
		return true;
	(void)sys_close(fd);
	return obey(&asked);
}

bool rules_let_two(struct rules_name first, struct rules_name second)
{
	struct asked one, other;

	ask(&one, first.ops, first.directory, first.path, first.follows);
	ask(&other, second.ops, second.directory, second.path, second.follows);
	/* Of a call that is refused, what would be let pass is not told. */
	if (is_denied(&one) && !is_denied(&other))
		finish(&other);
	else if (is_denied(&other) && !is_denied(&one))
		finish(&one);
	bool may = obey(&one);
	return obey(&other) && may;
}

bool rules_let_descriptor(uint32_t ops, int fd)
{
	struct asked asked = { .question.ops = ops };

	if (!shim.on || shim.sandboxed)
		return true;
	asked.path = scratch_acquire();
	if (!asked.path ||
	    subject_link(SUBJECT_SELF, fd, asked.path, SEGMENT_PATH_BYTES) == -ENAMETOOLONG) {
		could_not_ask(&asked);
		return true;
	}
	if (asked.path[0] != '/') { /* a pipe, a socket, no descriptor at all */
		finish(&asked);
		return true;
	}
	judge(&asked);
	if (asked.path && asked.answer.needs_lookup)
		complete(&asked, true);
	return obey(&asked);
}

/* Is it the file of seen's own program? */
static bool is_own_program(const char *path)
{
	struct stat stat;

	return sys_stat(path, &stat) == 0 && stat.st_ino == shim.program_ino &&
	       stat.st_dev == shim.program_dev;
}

bool rules_let_program(int directory, const char *path, bool searches)
{
	struct asked asked;
	char *found = NULL;

	if (!shim.on || shim.sandboxed || !path || !launch_is_text(path))
		return true;
	if (!*path)
		return rules_let_descriptor(RULE_EXEC, directory);
	if (directory == PROGRAM_DIRECTORY_UNKNOWN)
		directory = AT_FDCWD;
	if (searches && !strchr(path, '/')) {
		found = program_search(path);
		if (!found)
			return true;
	}
	ask(&asked, RULE_EXEC, directory, found ? found : path, true);
	scratch_release(found);
	if (asked.path && is_own_program(asked.path))
		finish(&asked);
	return obey(&asked);
}

void rules_start(const char *executable, const char *name)
{
	char *program;
	struct stat stat;

	if (!shim.segment.settings->rule_count)
		return;
	program = scratch_acquire();
	if (program && program_path(program, SEGMENT_PATH_BYTES) && sys_stat(program, &stat) == 0) {
		shim.program_dev = stat.st_dev;
		shim.program_ino = stat.st_ino;
	}
	scratch_release(program);
	if (shim.program_ino && is_own_program("/proc/self/exe"))
		return;
	rule_program(&shim.segment, executable, name, &shim.rules);
}
