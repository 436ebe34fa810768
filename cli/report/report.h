/*
 * What a session amounted to: gathered from its journal in one pass, for `seen report` in all its
 * forms.
 *
 * Memory is bounded, however long the journal: of files, processes, programs, conflicts and the
 * like as many are told apart as struct report_limits says, in the order in which they come; what
 * comes then is counted in the sums, and how much that is is reported (`left_out`).  So the sums
 * are of everything, and each row is whole.
 *
 * Everything but `unheeded`, `counters` and `seal` is from the journal alone: an auditor may have
 * no more than that file.
 *
 * Texts are bytes of others: each form escapes them.  Never prints, never exits.
 */
#ifndef SEEN_CLI_REPORT_H
#define SEEN_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "cli/journal/verified.h"
#include "cli/report/missed.h"
#include "cli/undo/story.h"
#include "config/pack.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"
#include "tracker/process/role.h"
#include "tracker/segment/segment.h"

enum {
	REPORT_ROLE_UNKNOWN = ROLE_COUNT, /* index into by_role of what has no known author */
	REPORT_ROLES,
	REPORT_VERDICTS = GUARD_DENY + 1,
	REPORT_REASONS = GUARD_UNREADABLE + 1,
	REPORT_KEPT_REASONS = 3, /* CONTENTS_REASON_COUNT */
};

/* As many of each are told apart. */
struct report_limits {
	size_t files, file_bytes; /* file_bytes: of their paths in all */
	size_t processes, programs, conflicts, rules, runs, unobserved, commands;
};

extern const struct report_limits REPORT_LIMITS; /* what `seen report` has: about 40 MB at most */

/* What was done: by all, by those of a role, by a process, with a file.  What did not succeed is in
 * `failed` alone. */
struct report_work {
	uint64_t opens_read;                /* files opened for reading, or for both */
	uint64_t opens_write;               /* for writing, or for both */
	uint64_t bytes_read, bytes_written; /* that passed through descriptors; not by mappings */
	uint64_t listings;
	uint64_t changes; /* names made, removed, replaced; sizes, modes, owners and times set */
	uint64_t maps;
	/* reads and commands that were answered with a notice, or with what changed */
	uint64_t notices;
	uint64_t bytes_saved; /* thereby */
	uint64_t failed;
	bool read_more,
		written_more; /* of the bytes there were more: libc's streams did not tell */
};

struct report_file {
	char *path; /* absolute; owned */
	bool in_workspace;
	struct report_work work;
	/* Opened for reading by an agent, shell, viewer or reader, by one of its scope again, with
	 * no change of it in between on the journal's record. */
	uint64_t repeats;
	uint64_t given, bytes_given; /* whole to an agent */
	uint64_t given_again;
	uint64_t edits;   /* by the session, complete ones */
	uint64_t changed; /* by an external writer */
	uint64_t first_ns, last_ns;
	uint32_t fate;  /* enum fate_bits: what the session made of it */
	uint32_t fold;  /* enum report_fold */
	uint32_t by;    /* index of the command that changed it last; REPORT_NO_COMMAND */
	uint64_t by_ns; /* when */
	bool by_agent;  /* the agent's own process did */
};

/* Files that are reported together. */
enum report_fold {
	REPORT_APART,
	REPORT_GIT,   /* in a directory named .git */
	REPORT_STATE, /* of an agent's own state, by its profile */
};

/* A command: what an agent started, with all below it; where there is no agent, what the run
 * started. */
struct report_command {
	char *text; /* as it was typed: of a shell the words behind -c; cut; owned */
	uint64_t time_ns;
};

#define REPORT_NO_COMMAND UINT32_MAX

/* A program: an executable that runs in processes. */
struct report_program {
	char *path; /* as the journal tells it; owned */
	uint64_t processes;
	struct report_work work;
};

struct report_process {
	uint64_t number; /* of its START or FORK record */
	uint32_t pid, parent_pid;
	uint64_t pid_ns; /* inode of the PID namespace; 0: not known */
	int role;        /* enum role; -1: not known */
	bool forked;     /* no program of its own: a copy of its starter */
	/* borrowed from its program; NULL: not known, or too many programs */
	const char *executable;
	uint64_t start_ns, end_ns; /* end_ns 0: not told: it lives, or a signal ended it */
	uint64_t last_ns;          /* of its last event */
	uint64_t status;           /* where it told one */
	bool has_status, unattached;
	struct report_work work;
};

/* One `seen run`. */
struct report_run {
	uint64_t start_ns,
		end_ns; /* end_ns 0: it has not ended, or it is not known which one did */
	char *command;  /* its arguments with spaces between, cut; owned */
};

enum report_conflict_kind {
	REPORT_GUARDED, /* a write that was warned of, or denied */
	REPORT_CHANGED, /* a change by an external writer, or by a process that is not observed */
};

struct report_conflict {
	enum report_conflict_kind kind;
	uint64_t number, time_ns;
	char *path;                 /* absolute where it is known; owned */
	const char *executable;     /* GUARDED: whose write it was; as in struct report_process */
	enum guard_verdict verdict; /* GUARDED */
	enum guard_reason reason;   /* GUARDED */
	bool degraded;              /* GUARDED: it was to be denied */
	bool kept;                  /* what was there is in the content store: `seen restore` */
	uint32_t change;            /* CHANGED: enum journal_flags, 0: its content */
	enum source source;         /* CHANGED */
	struct version before;      /* what was there; none: not known */
};

enum { REPORT_EXAMPLES = 3 };

/* What one rule said, with one action. */
struct report_rule {
	char *name; /* owned */
	enum rule_action action;
	uint32_t accesses; /* enum rule_op: of which kinds */
	uint64_t count;
	uint64_t first_ns, last_ns;
	/* the first paths, each another one; owned, NULL: no more */
	char *examples[REPORT_EXAMPLES];
};

/* A program that was not observed, or not in full. */
struct report_unobserved {
	char *program, *reason; /* owned */
	bool partly;
	uint64_t count;
};

/* What the guard, the watcher and the content store did. */
struct report_write_counts {
	uint64_t guarded[REPORT_REASONS][REPORT_VERDICTS];
	uint64_t degraded;
	uint64_t changed, added, deleted; /* by external writers */
	uint64_t edited_by_agent, edited_by_tool;
	uint64_t kept[REPORT_KEPT_REASONS], kept_bytes; /* versions put into the content store */
};

/* What the model was not given again. */
struct report_saved {
	uint64_t notices, notice_bytes;   /* of files and parts of files */
	uint64_t diffs, diff_bytes;       /* what changed, in place of the file */
	uint64_t commands, command_bytes; /* of readers */
	uint64_t given_again;             /* given in full, because the model asked again */
	uint64_t given, given_bytes;      /* files given whole */
	uint64_t bytes, tokens;           /* in all; tokens: cli/base/tokens.h */
};

/* Of the runs that have ended. */
struct report_coverage {
	uint64_t runs; /* with a COVERAGE record */
	uint64_t observed, unobserved, partial, unattached, opens, without_journal;
	uint64_t lost, undone,
		damaged; /* records that could not be written, were not finished, do not hold */
};

/* No number is above INT64_MAX: a sum that would be stops there. */
struct report {
	const char *session;   /* name; borrowed from `names` */
	const char *workspace; /* NULL: not known */
	char *names[2];
	bool has_segment; /* else what needs it was left out: `unheeded`, `counters` */

	/* number behind the last record that was inspected: what came later is not in here */
	uint64_t end;
	uint64_t events;
	uint64_t unknown;          /* records that are, or say something, of a later version */
	uint64_t start_ns, end_ns; /* of the events; 0: there are none */
	uint64_t by_op[EVENT_OP_COUNT], failed_by_op[EVENT_OP_COUNT];
	uint64_t denied;    /* EACCES, EPERM, EROFS, or by the guard */
	uint64_t attempted; /* told before the call was made: its result is not known */
	/* accesses to files whose directory is not known: in the sums, in no row */
	uint64_t unresolved;
	/* sums of bytes of descriptors whose first call was not remembered: they may be counted
	 * twice */
	uint64_t uncertain;
	struct report_work work; /* of all */
	struct report_work by_role[REPORT_ROLES];
	struct report_work
		elsewhere; /* with files that do not lie in it; /dev/null, and agents' state, are none */
	struct report_work agent_state; /* with files of agents' own state, by their profiles */

	struct report_run *runs; /* by their beginning */
	size_t run_count, runs_left_out;
	struct report_file *files; /* in the order in which they were met */
	size_t file_count;
	uint64_t files_left_out; /* accesses to files that have no row */
	struct report_process *processes;
	size_t process_count, processes_left_out;
	struct report_command *commands; /* in the order in which they began */
	size_t command_count;
	uint64_t commands_left_out;
	struct report_program *programs;
	size_t program_count;
	uint64_t programs_left_out;        /* processes of programs that have no row */
	struct report_conflict *conflicts; /* in the journal's order */
	size_t conflict_count, conflicts_left_out;
	struct report_rule *rules; /* the strictest action first, then by name */
	size_t rule_count;
	uint64_t rules_left_out;              /* hits */
	uint64_t ruled[RULE_ACTION_DENY + 1]; /* hits, by enum rule_action */
	struct report_write_counts writes;
	struct report_saved saved;
	struct report_coverage coverage;
	struct report_unobserved *unobserved;
	size_t unobserved_count;
	uint64_t unobserved_left_out; /* records */
	struct verified verified;     /* the seal */
	/* why it could not be held against its seal, a negative errno; 0: it was */
	int verify_error;

	/* From the undo records beside the journal; without any no step has files. */
	struct steps steps;
	struct story story;
	int story_error; /* why the records could not be read: then no step has files; 0: they were */

	/* With a segment. */
	uint64_t counters[COUNTER_COUNT];
	struct missed missed;
};

/* report_gather(): goes through a journal.
 *
 * journal: path of the file, also a copy.  segment: of the session; NULL: there is only the
 * journal.  limits: NULL for REPORT_LIMITS.
 * state: globs of agents' own files; NULL: none are known.
 * ret_report: report_free() it in any case.
 * Returns 0; -ENOMEM; the errors of events_open(). */
int report_gather(const char *journal, const struct segment *segment,
		  const struct report_limits *limits, const struct config_globs *state,
		  struct report *ret_report);

void report_free(struct report *report);

/* report_has_story(): does a step have a file that it changed? */
bool report_has_story(const struct report *report);

enum report_order {
	/* Files of the workspace, where that is known; else all. */
	REPORT_BY_WRITTEN, /* bytes, then opens */
	REPORT_BY_REPEATS,
	REPORT_BY_READ,
	/* Those that do not lie in it. */
	REPORT_ELSEWHERE_BY_WRITTEN, /* also what was changed otherwise */
	REPORT_ELSEWHERE_BY_READ,
};

#endif
