/* Rules for supervised processes: see rules.h. */
#include "shim/supervise/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "shim/supervise/memory.h"
#include "shim/supervise/message.h"
#include "shim/supervise/proc.h"
#include "shim/supervise/record.h"
#include "tracker/guard/protected.h"
#include "tracker/guard/rule.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

/* Is that the program of this very process? */
static bool is_seen(const struct stat *program)
{
	struct stat own;

	return sys_stat("/proc/self/exe", &own) == 0 && own.st_dev == program->st_dev &&
	       own.st_ino == program->st_ino;
}

bool rules_spare(const struct supervision *supervision, const struct stat *program)
{
	return supervision->segment->settings->rule_count && is_seen(program);
}

/* Which rules speak of what the process runs: told once for each program. */
static const struct rule_program *rules_of(const struct supervision *supervision,
					   struct target *target)
{
	char link[64], executable[SEGMENT_PATH_BYTES];
	struct stat stat;

	if (target->rules_known)
		return &target->rules;
	target->rules_known = true;
	target->rules = (struct rule_program){ 0 };
	target->rules_refused = false;
	memset(target->rules_said, 0, sizeof(target->rules_said));
	if (!supervision->segment->settings->rule_count)
		return &target->rules;
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)target->pid);
	if (sys_stat(link, &stat) == 0 && rules_spare(supervision, &stat))
		return &target->rules;
	ssize_t length = sys_readlink(link, executable, sizeof(executable) - 1);
	executable[length > 0 ? length : 0] = '\0';
	rule_program(supervision->segment, executable, target->invocation.name, &target->rules);
	return &target->rules;
}

/* Was it not said lately, of this rule and path, by what the process runs? */
static bool is_new(const struct segment *segment, struct target *target, const char *path,
		   const struct rule_answer *answer)
{
	enum { SAID = sizeof(target->rules_said) / sizeof(target->rules_said[0]) };
	uint64_t key = rule_message_key(segment, answer, path);

	for (int i = 0; i < SAID; i++)
		if (target->rules_said[i] == key)
			return false;
	target->rules_said[target->rules_said_next++ % SAID] = key;
	return true;
}

bool rules_is_session(const struct supervision *supervision, pid_t pid, const char *path,
		      uint32_t flags)
{
	const char *journal = segment_journal(supervision->segment);
	size_t length = supervision->directory ? strlen(supervision->directory) : 0;
	char link[64];
	struct stat stat;

	if ((!length || strncmp(path, supervision->directory, length) != 0 ||
	     strcmp(path + length, "/segment") != 0) &&
	    (!journal || strcmp(path, journal) != 0))
		return false;
	if ((flags & (O_ACCMODE | O_TRUNC)) == O_RDWR)
		return true;
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	return sys_stat(link, &stat) == 0 && is_seen(&stat);
}

/* Records, counts and reports an answer.  Returns what it does to the call. */
static int obey(const struct supervision *supervision, struct target *target,
		const struct named *named, const struct rule_answer *answer)
{
	const struct segment *segment = supervision->segment;
	char line[SEGMENT_PATH_BYTES];

	rule_count(segment, answer);
	record_ruled(supervision, target, named, answer);
	if (named->normal && is_new(segment, target, named->normal, answer))
		message_line(
			supervision, target, line,
			rule_format_message(segment, answer, named->normal, line, sizeof(line)));
	return answer->action == RULE_ACTION_DENY ? -EACCES : 0;
}

/* A descriptor's own name in /proc, of a pipe or a socket: no rule speaks of that. */
static bool is_nameless(const struct target *target, const struct named *named)
{
	char link[32], text[SEGMENT_PATH_BYTES];
	int fd;
	const char *rest = path_behind_descriptor(named->path, (uint32_t)target->pid, &fd);

	if (!rest || rest[0])
		return false;
	(void)snprintf(link, sizeof(link), "fd/%d", fd);
	return proc_link(named->tid, link, text, sizeof(text)) > 0 && text[0] != '/';
}

int rules_ask(const struct supervision *supervision, struct target *target,
	      const struct rules_access *access)
{
	const struct segment *segment = supervision->segment;
	const struct rule_program *program = rules_of(supervision, target);
	struct rule_question question = { .ops = access->ops, .path = access->named->normal };
	struct rule_answer answer;

	if (!rule_may_hold(program, access->ops))
		return 0;
	if (!question.path) {
		if (is_nameless(target, access->named))
			return 0;
		segment_count(segment, COUNTER_calls_unjudged, 1);
		return 0;
	}
	rule_judge(segment, program, &question, &answer);
	if (answer.needs_lookup)
		rule_complete(segment, program, &question, access->is_there(access->data), &answer);
	if (answer.action == RULE_ACTION_OFF)
		return 0;
	return obey(supervision, target, access->named, &answer);
}

void rules_refuse(const struct supervision *supervision, struct target *target)
{
	char line[SEGMENT_PATH_BYTES], comm[64] = "", name[4 * sizeof(comm)];
	const char *known = target->invocation.name;

	(void)rules_of(supervision, target); /* knows whether this is another program by now */
	if (target->rules_refused)
		return;
	target->rules_refused = true;
	/* That of a process which may not be inspected is there all the same. */
	if (!known[0] && proc_read(target->pid, "comm", comm, sizeof(comm)) > 0)
		comm[strcspn(comm, "\n")] = '\0';
	(void)path_escape(known[0] ? known : comm, name, sizeof(name));
	(void)snprintf(
		line, sizeof(line),
		"seen: %s (%d): its calls are refused: a rule denies, and the supervisor may "
		"not inspect this process\n",
		name, (int)target->pid);
	message_refusal(supervision, target, line);
}

bool rules_deny_file(const struct supervision *supervision, struct target *target, uint32_t ops)
{
	return rule_denies_file(rules_of(supervision, target), ops);
}

int rules_ask_file(const struct supervision *supervision, struct target *target, uint32_t ops,
		   const struct named *named, int fd, bool is_visible)
{
	const struct protected_question question = { rules_of(supervision, target), ops, fd,
						     is_visible };
	struct named real = *named;
	struct rule_answer answer;
	char path[SEGMENT_PATH_BYTES];

	if (!protected_judge(supervision->segment, &question, path, &answer))
		return 0;
	if (path[0])
		real.normal = path;
	return obey(supervision, target, &real, &answer);
}

int rules_ask_new(const struct supervision *supervision, struct target *target, uint32_t ops,
		  const struct named *named, const char *path)
{
	const struct rule_question question = { .ops = rule_ops_of_file(ops),
						.path = path,
						.denies = true };
	struct named real = *named;
	struct rule_answer answer;

	rule_judge(supervision->segment, rules_of(supervision, target), &question, &answer);
	real.normal = path;
	return answer.action == RULE_ACTION_DENY ? obey(supervision, target, &real, &answer) : 0;
}
