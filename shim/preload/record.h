/*
 * What this process does, written to the session's journal (tracker/journal/journal.h).
 *
 * A record tells what a call was given and its result; nothing is looked up for it.  What passes
 * through descriptors:
 * descriptors.h.
 *
 * All of this is async-signal-safe and makes no system call, but for one gettid in each thread and
 * one getpid after each vfork.
 */
#ifndef SEEN_SHIM_RECORD_H
#define SEEN_SHIM_RECORD_H

#include "tracker/answer/decision.h"
#include "tracker/answer/inject.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/process/process.h"

/* What a viewer or an agent learned of a file that it opened. */
struct open_facts {
	bool is_known;   /* dev, ino, size */
	bool is_decided; /* decision, reason */
	enum decision decision;
	enum reason reason;
	uint64_t bytes_saved; /* NOTICE, DIFF */
	uint16_t marks;       /* of the record: JOURNAL_MADE, JOURNAL_WAS_THERE */
	bool is_weighed;      /* size_bytes, as it was opened for writing */
	uint64_t size_bytes;
	struct journal_details details;
};

/* record_start(): the library is attached.  argv: the program's. */
void record_start(const char *executable, char *const argv[]);

/* record_fork(): this is a copy that fork() made. */
void record_fork(void);

/* record_exit(): the process ends: what its descriptors read and wrote, and its status. */
void record_exit(int status);

/* record_opened(): a call opened a file, or with fd < 0 could not; errno then says why.
 * path: as given, NULL: not by name.  look: NULL: nothing is known. */
void record_opened(int fd, int directory, const char *path, int flags,
		   const struct open_facts *facts);

/* record_answered(): the first whole read through a descriptor was decided.  look: its result. */
void record_answered(int fd, const struct open_facts *facts);

/* record_listed(): a directory was opened to be listed.  fd: -1 when it is not known.  path: NULL:
 * not known.
 * failed: it could not be; errno says why.  marks: enum journal_marks. */
void record_listed(int fd, bool failed, int directory, const char *path, uint16_t marks);

/* record_planned(): a program about to be spawned will open a file by itself. */
void record_planned(int fd, const char *path, int flags);

/* record_name(): a call about one name.  failed: errno says why.  flags, amount: journal.h says for
 * each op. */
void record_name(enum journal_op op, bool failed, int directory, const char *path, uint32_t flags,
		 uint64_t amount);

/* record_names(): a call about two names.  SYMLINK: `path` is the link, `other` its target. */
void record_names(enum journal_op op, bool failed, int directory, const char *path,
		  int other_directory, const char *other, uint32_t flags);

/* record_descriptor(): a call about what a descriptor is open for. */
void record_descriptor(enum journal_op op, bool failed, int fd, uint32_t flags, uint64_t amount);

/* record_join(): arguments, each ended by NUL, one behind the other.
 *
 * checks: argv is what the caller hands to exec, where a wrong pointer has to give EFAULT: it ends
 * there.  ret_cut: there were more than `capacity` bytes.  Returns the number of bytes. */
size_t record_join(char *const argv[], bool checks, char *ret_bytes, size_t capacity,
		   bool *ret_cut);

/* record_exec(): a program is about to be started.
 *
 * directory, path: as struct launch_place.  arguments: from record_join().  process: as announced.
 * pid: of the process that will hold it, 0: not known yet. */
void record_exec(int directory, const char *path, const char *arguments, size_t argument_bytes,
		 bool cut, struct process_ref process, pid_t pid);

/* record_exec_failed(): it could not be. */
void record_exec_failed(uint64_t serial, int error);

/* record_path(): number of the text of a file's path as the kernel knows it; 0: the file is not
 * recorded. */
uint32_t record_path(const char *path);

/* record_guarded(): the guard warned of a write to that file, or refused it.  record_ruled(): a
 * rule held for an access to it; recorded whatever [journal] level and exclude say.
 * record_edited(): a change of it is complete.
 * path: absolute. */
void record_guarded(const char *path, const struct guard_answer *answer);
void record_ruled(const char *path, const struct rule_answer *answer);
void record_edited(const char *path, const struct version *before, const struct version *after,
		   enum source source);

/* record_request(): a reader's command was given whole, answered, or given because the model asks
 * again.  amount: bytes printed; NOTICE: bytes saved.  inputs: of its list. */
void record_request(enum decision decision, uint64_t amount, uint32_t inputs);

/* record_delivery(): a viewer gave a file whole, or found it other than it was.  path: from
 * record_path(). */
void record_delivery(enum journal_op op, uint32_t path, const struct journal_details *details);

/* record_instructed(): a viewer printed an instruction file before its own output. */
void record_instructed(uint64_t scope_id, const struct injected *injected);

#endif
