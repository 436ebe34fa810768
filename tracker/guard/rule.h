/*
 * Rules ([rule NAME] of seen.ini): how an access is judged before it is made.  One decision for
 * both mechanisms; it knows nothing of how a process is observed, inspects no file, and makes no
 * system call.
 *
 * 	rule_program()   once for each program that runs: which rules speak of it at all, and of what
 * 	rule_may_hold()  inline, one branch where none does: could a rule hold for this?
 * 	rule_judge()     the rules' verdict on an access to a path
 * 	rule_complete()    the same, when it is known whether there is something by that name
 * 	rule_count()     raises the counter of its result
 *
 * What each op means, of calls that name a path P (settings.h has the bits):
 *
 * 	READ      P is opened to be read, or for both; a file, or what is not known to be a directory
 * 	WRITE     P is opened to be written to, or for both; made empty or set to another size by name; made; or another file takes its name
 * 	CREATE    P is made where nothing was: by open, mkdir, mknod, mkfifo, symlink, as the new name of a rename or link
 * 	DELETE    P is removed; or it is the old name of a rename
 * 	RENAME    P is the old or the new name of a rename
 * 	LINK      P is either name of a hard link, or a symbolic link that is made (not what that points to)
 * 	METADATA  mode, owner, times or extended attributes of P are set, by name or by descriptor
 * 	LIST      P is a directory that is opened to be listed
 * 	EXEC      P is a program that is started: the file that was named, found by PATH where it was named so; of a script, the script
 *
 * So a call asks about one path (open, unlink ...) or two (rename, link), with one bit or several:
 *
 * 	open        O_RDONLY: READ; with O_DIRECTORY: LIST; O_WRONLY, O_TRUNC: WRITE; O_RDWR: READ | WRITE; O_CREAT, O_TMPFILE: and CREATE;
 * 	            O_PATH: nothing (rule_ops_of_open())
 * 	truncate    WRITE                       unlink, rmdir  DELETE
 * 	mkdir ...   WRITE | CREATE              chmod ...      METADATA
 * 	rename      old: RENAME | DELETE (RENAME_EXCHANGE: RENAME | WRITE); new: RENAME | WRITE | CREATE (RENAME_EXCHANGE: RENAME | WRITE)
 * 	link        old: LINK; new: LINK | WRITE | CREATE
 * 	symlink     the link: LINK | WRITE | CREATE
 * 	execve      EXEC
 *
 * A call that only makes what is not there (mkdir, mknod, mkfifo, symlink, link, RENAME_NOREPLACE,
 * O_CREAT | O_EXCL) does nothing where the name is there already: it is no access then, and fails
 * as it always does (RULE_ONLY_NEW).
 *
 * What is no access: stat, access, readlink, chdir; reading and writing by a descriptor that is
 * open; what libc opens by itself for glob(3), below the first directory of a walk, and its loader.
 *
 * A path is judged as it was named, made absolute and normalized by text: a symbolic link is not
 * followed.  Of rules that deny to read or write, the file is judged as well (protected.h).
 *
 * Globs of a path: `/x` is absolute; `./x` begins at the workspace's root; any other one matches at
 * any depth, below the workspace's root or, outside of it, below `/`.  What matches a directory's
 * name matches all below it.  One that takes too long does not match.
 * Globs of a program: with a slash, as those of a path, its executable's path; else its base name,
 * or the name that it goes by (role.h).
 *
 * Of several rules that hold, the one with the strictest action is the answer (enum rule_action),
 * of several such the first.
 *
 * Lock-free, allocates nothing, async-signal-safe.
 */
#ifndef SEEN_TRACKER_RULE_H
#define SEEN_TRACKER_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"
#include "tracker/guard/rule_sketch.h"

struct segment;

/* Which rules speak of one program.  All zero: none. */
struct rule_program {
	uint64_t rules; /* bits: indices into settings.rules */
	uint32_t ops;   /* enum rule_op: what is to be asked about */
	/* of those that deny, and are of some paths: reading and writing, by whichever name */
	uint32_t file_ops;
	uint64_t denies;           /* bits: these */
	uint64_t of_any;           /* bits: those that may hold for any path */
	struct rule_sketch sketch; /* of the paths of all others */
};

/* rule_program(): tells what rules there are for a program.
 *
 * executable: the target of its /proc/PID/exe; "": not known, then only rules for all programs
 * hold.  name: what it goes by (invocation.name); "": none.
 * The caller leaves out seen's own program (the file of `seen run`): no rule is to hold for
 * that. */
void rule_program(const struct segment *segment, const char *executable, const char *name,
		  struct rule_program *ret_program);

/* rule_program_denying(): all rules that deny, whatever program they are about: `denies` of it. */
void rule_program_denying(const struct segment *segment, struct rule_program *ret_program);

/* rule_may_hold(): could a rule hold for such an access?  ops: enum rule_op, any of them. */
static inline bool rule_may_hold(const struct rule_program *program, uint32_t ops)
{
	return __builtin_expect(program->ops & ops, 0);
}

/* rule_gives_name(): does a call that does this to a name give another one to what that stands for?
 * (The old name of a rename or link, either of an exchange.)  For a rule that denies to read, that is
 * reading it. */
static inline bool rule_gives_name(uint32_t ops)
{
	return (ops & (RULE_RENAME | RULE_LINK)) && !(ops & RULE_CREATE);
}

/* rule_ops_of_file(): what such a call would do to the file itself. */
static inline uint32_t rule_ops_of_file(uint32_t ops)
{
	return (ops & (RULE_READ | RULE_WRITE)) | (rule_gives_name(ops) ? RULE_READ : 0);
}

/* rule_denies_file(): could a rule deny such an access to the file that a name stands for, by
 * whichever name?  Then the file is to be asked about, too: protected_judge() (protected.h). */
static inline bool rule_denies_file(const struct rule_program *program, uint32_t ops)
{
	return __builtin_expect(program->file_ops & rule_ops_of_file(ops), 0);
}

/* Beside the ops of a question: where the name is there, the call does nothing, and fails.  No bit
 * of enum rule_op. */
enum { RULE_ONLY_NEW = 1 << 16 };

/* What a call that makes a name asks of it: mkdir, mknod, mkfifo; and symlink, or link of its new
 * name. */
enum {
	RULE_MAKES = RULE_WRITE | RULE_CREATE | RULE_ONLY_NEW,
	RULE_MAKES_LINK = RULE_LINK | RULE_MAKES,
};

/* rule_ops_of_open(): what open(2) would do to its path.  flags: as given to it. */
uint32_t rule_ops_of_open(int flags);

/* rule_ops_of_rename(): what renameat2(2) would do to its old and its new name.  flags: as given to
 * it; 0 for rename and renameat. */
void rule_ops_of_rename(unsigned flags, uint32_t *ret_old, uint32_t *ret_new);

/* What is asked. */
struct rule_question {
	uint32_t ops;     /* enum rule_op: all that the call would do to this path; RULE_ONLY_NEW */
	const char *path; /* absolute, normalized (path_normalize()) */
	bool denies;      /* only rules that deny are asked */
};

/* What the rules say. */
struct rule_answer {
	enum rule_action action; /* OFF: nothing; then the rest is zero */
	uint32_t rule;           /* index into settings.rules */
	enum rule_op op;         /* what of the question it spoke of: the first of its bits */
	/* Where true, the file system has to be asked: rule_complete() takes its answer.  (A rule
	 * that only hinders what is new; or a call that does nothing where nothing is, so that a
	 * program which only tries gets the error that it expects.) */
	bool needs_lookup;
};

/* rule_judge(): the rules' verdict on an access.  For nearly all paths that no rule names it takes
 * the time of reading the path once; for others in proportion to the globs.  No system call. */
void rule_judge(const struct segment *segment, const struct rule_program *program,
		const struct rule_question *question, struct rule_answer *ret_answer);

/* rule_judge_file(): the same of a file that rules mean by one of its names.  ops: READ, WRITE.
 * rules: bits.  False: none of them denies that; ret_answer is not set then. */
bool rule_judge_file(const struct segment *segment, const struct rule_program *program,
		     uint32_t ops, uint64_t rules, struct rule_answer *ret_answer);

/* rule_meaning(): which of the program's rules that deny mean a path: bits.  No system call. */
uint64_t rule_meaning(const struct segment *segment, const struct rule_program *program,
		      const char *path);

/* rule_excepting(): which of these rules except a path: bits. */
uint64_t rule_excepting(const struct segment *segment, uint64_t rules, const char *path);

/* rule_complete(): the answer, where rule_judge() needed a lookup.
 *
 * is_there: the name stands for something (for calls that follow a symbolic link at its end: the
 * link's target is there).
 * Where nothing is there and the call would make nothing, or something is there and it only makes
 * what is new, no rule holds: the call is to be made, and will fail by itself. */
void rule_complete(const struct segment *segment, const struct rule_program *program,
		   const struct rule_question *question, bool is_there,
		   struct rule_answer *ret_answer);

/* rule_name(): the name of a rule; "" for an index that is none. */
const char *rule_name(const struct segment *segment, uint32_t rule);

/* rule_op_name(): "read" ...; NULL for what is not one bit of enum rule_op.  rule_action_name():
 * "log" ...; NULL for a number that is none. */
const char *rule_op_name(uint32_t op);
const char *rule_action_name(uint32_t action);

/* rule_count(): raises the counter of an answer that is not OFF: rules_logged, rules_warned,
 * rules_failed, rules_denied. */
void rule_count(const struct segment *segment, const struct rule_answer *answer);

/* rule_message_key(): a number for what rule_format_message() would say, never 0, so that it is not
 * said again.  Of a rule of an agent's ignore file it is the same for all paths.  path: as in the question. */
uint64_t rule_message_key(const struct segment *segment, const struct rule_answer *answer,
			  const char *path);

/* rule_format_message(): a line for the agent to read, of WARN and DENY.  path: as in the question.
 * Ended by a newline and NUL.
 *
 * capacity: at least 2.  Returns its length, 0 where there is nothing to say. */
size_t rule_format_message(const struct segment *segment, const struct rule_answer *answer,
			   const char *path, char *ret_line, size_t capacity);

#endif
