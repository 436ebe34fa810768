/*
 * The slots of the segment's tables.  Sizes are part of the ABI and asserted; every slot that is
 * written under the slot protocol starts with a slot_head and has a size that is a multiple of 8.
 * Times are CLOCK_BOOTTIME nanoseconds unless the name says realtime.
 */
#ifndef SEEN_TRACKER_TABLES_H
#define SEEN_TRACKER_TABLES_H

#include "tracker/content/version.h"
#include "tracker/process/role.h"
#include "tracker/segment/slot.h"

/* What an open file is, for each of its holders.  rdev tells terminals apart, whose inode may be
 * shared. */
struct identity {
	uint64_t dev;
	uint64_t ino;
	uint64_t rdev;
};

enum context_flags {
	/* belongs to a registered tree: without it nothing is ever answered */
	CONTEXT_ATTACHED = 1,
	CONTEXT_EXTERNAL_AGENT =
		2, /* the agent is external: the root's descriptor 1 is the capture */
	CONTEXT_EXTERNAL_DECLARED = 4, /* and the user said so: a pipe or socket is a capture too */
	CONTEXT_ROOT = 8,              /* the process is the root of its run or command */
	CONTEXT_AGENT = 16,            /* an agent is the process itself or above it */
	CONTEXT_AGENT_OUT = 32,        /* agent_out is known */
	CONTEXT_ROOT_OUT = 64,         /* root_out is known */
	CONTEXT_PARTIAL = 128,         /* the process itself is not fully observed; not handed on */
	/* inspected by a supervisor, also where it makes system calls of its own; not handed on */
	CONTEXT_SUPERVISED = 256,
	/* the scope is that of a fork of the agent, for what it was given; what is guarded is the
	 * agent's */
	CONTEXT_FORK = 512,
	/* a program that may be an agent that was not named; not handed on */
	CONTEXT_UNKNOWN = 1024,
	CONTEXT_TAKEN = 2048, /* below a shell whose output such a program takes */
	/* enum context_run; handed on to all that the run starts */
	CONTEXT_RUN_KIND_SHIFT = 12,
	CONTEXT_RUN_KIND = 3 << CONTEXT_RUN_KIND_SHIFT,
	/* its program calls the kernel past libc (Go, Bun): of it only a supervisor sees all; not
	 * handed on */
	CONTEXT_PAST_LIBC = 1 << 14,
	CONTEXT_NESTED = 1 << 15, /* the agent was started below another one */
	/* above: which run it belongs to (process_begin_run()); 0: not known */
	CONTEXT_RUN_SHIFT = 16,
};

/* Which scopes of a run are interactive: a person may have their agents begin another
 * conversation. */
enum context_run {
	/* no run: those of agents at a terminal, and no process reads transcripts */
	CONTEXT_RUN_NONE,
	CONTEXT_RUN_HEADLESS,    /* those of agents at a terminal of their own */
	CONTEXT_RUN_INTERACTIVE, /* standard input is a terminal: all */
	/* so it is, and the command itself is no agent: those of agents with a profile */
	CONTEXT_RUN_EXTERNAL,
};

/* What a process hands on to those it starts: its place in the tree.  Plain data, copied whole. */
struct context {
	uint32_t flags;      /* enum context_flags */
	uint32_t role;       /* enum role of the process that this describes */
	uint64_t scope_id;   /* 0: none */
	uint64_t capture_id; /* 0: none recorded */
	/* inode of the PID namespace of the anchor, else of the run's root; 0: not known */
	uint32_t pid_ns;
	uint32_t process_ns; /* of the process that this describes: what its pid is counted in */
	/* the agent's process, or the root's where the agent is external; 0: none */
	uint32_t anchor_pid;
	uint32_t profile;             /* index into settings.profiles + 1; 0: generic */
	uint64_t agent_serial;        /* of the agent's process slot: what its scope is made from */
	struct identity root_out;     /* descriptor 1 of the run's root */
	struct identity agent_out[2]; /* descriptors 1 and 2 of the agent */
};

enum process_state {
	PROCESS_FREE,
	PROCESS_ANNOUNCED, /* started by an observed process, not (yet) heard of: unobserved */
	PROCESS_ATTACHED,  /* the library is inside */
	PROCESS_EXITED,    /* or replaced by a later image */
};

/* What a program did, by its own process and forks of it: counted while it lives, added to the
 * session's counters when it ends. */
enum process_count {
	PROCESS_OPENS,       /* files opened for reading */
	PROCESS_OPENS_WRITE, /* files opened for writing */
	PROCESS_LISTINGS,    /* directories opened to be listed */
	PROCESS_CHANGES,     /* names made, replaced or removed */
	PROCESS_COUNTS,
};

/* A process, or one image of it.  Written under the slot protocol by the process that starts it,
 * then by the process itself. */
struct process_slot {
	struct slot_head head;
	uint64_t serial;       /* never reused */
	uint32_t pid;          /* 0: not known yet (posix_spawn) */
	uint32_t spawner_pid;  /* of the process that announced it */
	uint32_t state;        /* enum process_state */
	uint32_t starter_role; /* enum role of the program that announced it */
	/* slot of that program; its own when the image is replaced in place */
	uint64_t starter_index;
	uint64_t time_ns;       /* when announced, then when attached */
	struct context context; /* ANNOUNCED: the starter's; ATTACHED: its own */
	char name[40]; /* base name of executable or script, cut, NUL-ended: data of others */
	/* the process, by atomic adds; not under the check */
	uint64_t counts[PROCESS_COUNTS];
	/* starter: number of the EXEC record in the journal; not under the check either */
	uint32_t record;
	/* starter: enum mechanism; nor is this */
	uint16_t mechanism;
	/* starter: which descriptors write to files that it opened, a bit each (keep_file.h); nor is
	 * this */
	uint16_t keeps;
	/* starter: key of the file that the program's descriptor 1 writes to, where that is
	 * guarded; 0 */
	uint64_t writes;
};
#define PROCESS_CHECKED_BYTES offsetof(struct process_slot, counts)

/* What `seen run` found out about a scope (proof.h). */
enum scope_flags {
	SCOPE_PROVES =
		1, /* a transcript of its agent is read: a delivery counts from its proof on */
	SCOPE_MUTE =
		2, /* which conversation it is in is not known, or not yet: nothing given counts */
	SCOPE_VERSION = 4, /* its agent is of the version that its profile was measured with */
	SCOPE_INTERACTIVE =
		8, /* from its beginning on, which in a run is mute then: enum context_run */
	SCOPE_REPORTS =
		16, /* its agent's hook has what its commands printed: any of it may come to be proven */
	SCOPE_READS_REPORTED =
		32, /* its agent's hook has what its read tool gave: that is what its model knows, not
		       what the agent reads by itself */
	SCOPE_LENDS = 64, /* a sub-agent was about to write what it knows alone (hook_knows.h) */
};

enum { SCOPE_NAME_BYTES = 40, SCOPE_ANNOUNCED = 8 };

/* A command that the model asked for (announced.h).  Atomic words. */
struct scope_announced {
	uint64_t command;    /* hooks of agents: hash and length; 0: none */
	uint64_t time_ns;    /* hooks of agents: CLOCK_BOOTTIME */
	uint64_t capture_id; /* the shell that runs it; 0: none did yet */
};

/* A scope.  The part before `requests` is under the slot protocol; the counters behind it are
 * raised by atomic adds and go on rising when the slot is given to another scope. */
struct scope_slot {
	struct slot_head head;
	uint64_t id; /* 0: empty */
	/* a serial: unique, so that a scope that comes back never meets old deliveries */
	uint64_t epoch;
	uint32_t anchor_pid;
	uint32_t profile;
	uint64_t created_realtime_ns;
	char name[SCOPE_NAME_BYTES]; /* agent's name or SEEN_SCOPE, cut, NUL-ended */
	/* that began in the agent's process and did not end: while there are any, nothing counts */
	uint32_t sub_agents;
	uint32_t flags; /* enum scope_flags: `seen run`, hooks of agents */
	/* the scope whose agent this one's works for; its own id: none (scope_head()) */
	uint64_t head_id;
	/* what the counters below were when this scope began (scope_counts()) */
	uint64_t requests_before, bytes_before;
	uint32_t pid_ns; /* what anchor_pid is counted in: context.pid_ns; 0: not known */
	uint32_t unused;
	/* any, by atomic add or store */
	uint64_t requests;
	uint64_t bytes_given;
	uint64_t last_ns;
	struct scope_announced announced[SCOPE_ANNOUNCED];
};
#define SCOPE_CHECKED_BYTES offsetof(struct scope_slot, requests)

enum capture_kind {
	CAPTURE_PIPE = 1,
	CAPTURE_SOCKET,
	CAPTURE_TERMINAL,
	CAPTURE_FILE,     /* the agent's spool: opened by its reader, for a moment */
	CAPTURE_UNLINKED, /* a file without a name: only who has it open can read it */
};

/* A stream through which an agent receives a command's output; its slot is id % capacity. */
struct capture_slot {
	struct slot_head head;
	uint64_t id;
	struct identity identity;
	uint64_t creation_ns; /* of a file (statx): inode numbers are reused */
	uint64_t scope_id;
	uint32_t kind;       /* enum capture_kind */
	uint32_t long_lived; /* commands are told apart by pauses */
	/* the process whose descriptor 1 it is; the root's where the agent is external */
	uint32_t shell_pid;
	/* what passed is known from the kernel, else only what viewers and readers say */
	uint32_t measured;
	uint64_t start_bytes; /* of a file when it became the capture */
	struct identity
		errors; /* the shell's descriptor 2, then: what is written there, its agent can read */
	/* any, by atomic store: the command below way; not under the check */
	uint64_t command_id;
};
#define CAPTURE_CHECKED_BYTES offsetof(struct capture_slot, command_id)

/* What a transcript holds of a command's output. */
enum proof {
	PROOF_NONE,
	PROOF_WHOLE,        /* the model was given all that its viewers and readers printed */
	PROOF_CONTRADICTED, /* it was given something else, or that was taken away since */
	PROOF_OFF_BRANCH,   /* the conversation is on a branch that does not have it */
	/* the agent's hook reported all of it; the transcript, where one is read, has still to say on
	 * which branch that is */
	PROOF_REPORTED,
};

/* All that runs below one capture; its slot is id % capacity.  Plain atomic words: id is cleared
 * first and set last when a slot is given to another command. */
struct command_slot {
	uint64_t id;
	uint64_t bytes;   /* any, by atomic add: what its viewers and readers sent to the capture */
	uint64_t last_ns; /* any: last request */
	/* any, by atomic add: what its shell wrote before it, and the library in its processes */
	uint64_t base_bytes;
	/* all that was written; COMMAND_OPEN: it has not ended, or that is not known */
	uint64_t total_bytes;
	uint64_t measured; /* total_bytes will be known */
	/* any, by atomic add: readers that began and did not say yet what they sent */
	uint64_t running;
	uint64_t proof; /* `seen run`, and hooks of agents: id << 3 | enum proof; of another id: none */
	/* of the bytes counted above */
	/* any, by atomic add: a last one without newline counts; of unseen bytes each is one */
	uint64_t lines;
	uint64_t longest; /* any, only rises: bytes of the longest line */
	/* any, by atomic add: of last lines without newline: what follows may be joined to them */
	uint64_t open_bytes;
	uint64_t senders; /* any, by atomic add: how many sent something */
};
#define COMMAND_OPEN UINT64_MAX

enum file_flags {
	FILE_EDITED_BY_AGENT =
		1, /* agent_edited: by an agent, or a shell, viewer or reader below it */
	FILE_EDITED_BY_TOOL = 2, /* tool_edited: by another process of the session */
	FILE_HAS_BASELINE = 4,   /* of some scope: its changes are inspected */
	FILE_WRITER_KNEW =
		8,         /* `writer` replaces a version that it may: its result moves baselines */
	FILE_REMOVED = 16, /* by the session: `written` is none */
	FILE_CHANGE_REPORTED =
		32, /* by `seen changed --clear`; cleared when it changes again or is read */
	FILE_EDIT_UNREPORTED = 64,       /* edited by the agent since `seen edited --clear` */
	FILE_WRITER_WHOLE = 128,         /* `writer` leaves nothing of what was there */
	FILE_TOOL_EDIT_UNREPORTED = 256, /* edited by a tool since `seen edited --tools --clear` */
	FILE_FATE_FIRST = 512,           /* to 4096: enum fate_bits (tracker/content/fate.h) */
	FILE_HELD_NOTICE = 8192,         /* the session stored a notice in it, once at least */
};

/* What happened to a file last, and who did it.  The words are those of task_metadata.json; part of
 * the segment's ABI. */
enum source {
	SOURCE_NONE,
	SOURCE_READ,  /* read_tool: the agent read it, or was given it */
	SOURCE_AGENT, /* agent_edited: by an agent, or a shell, viewer or reader below it */
	SOURCE_TOOL,  /* tool_edited: by another process of the session */
	SOURCE_USER,  /* user_edited: by a writer external to the session */
	/* external, or by a process of the session that is not observed: not known which */
	SOURCE_UNATTRIBUTED,
	SOURCE_MENTIONED, /* file_mentioned: given by the user */
	SOURCE_COUNT,
};

/* A file of the workspace.  Written under the slot protocol by any process. */
struct file_slot {
	struct slot_head head;
	uint64_t key;           /* hash of the path; 0: empty */
	uint64_t path_offset;   /* in the arena */
	uint16_t path_bytes;    /* without NUL */
	uint16_t path_room;     /* bytes there, at least as many; 0: not known */
	uint32_t flags;         /* enum file_flags */
	struct stamp stamp;     /* when last read whole */
	struct version version; /* as last read whole */
	uint64_t first_read_realtime_ns;
	uint64_t last_read_realtime_ns;
	uint64_t last_read_ns;
	uint64_t last_edit_realtime_ns;
	uint32_t last_read_pid;
	uint32_t full_reads;
	uint32_t repeats;
	uint32_t notices;
	uint32_t yields;
	uint32_t forgets; /* a pending read from before a forget is no delivery; begins anywhere */
	struct version
		written; /* what the session last made of it, over a version that it knew; none: it did not */
	/* as last recorded: what an external writer made of it, or the session of such a version
	 * (`source` tells which) */
	struct version external;
	/* serial of the process that writes to it, or ended without reporting its result; 0:
	 * none */
	uint64_t writer;
	uint64_t agent_read_realtime_ns; /* by an agent, or given to one */
	uint64_t agent_edit_realtime_ns; /* SOURCE_AGENT */
	uint64_t user_edit_realtime_ns;  /* SOURCE_USER, SOURCE_UNATTRIBUTED */
	uint64_t mention_realtime_ns;
	uint32_t source; /* enum source */
	uint32_t edits;  /* of the session, complete */
	/* whose work those versions are, as scope_head() says; 0: of no scope, or external to the
	 * session */
	uint64_t written_scope;
	uint64_t external_scope;
};

/* From (dev, ino) to the file's key.  Written under the slot protocol by any process. */
struct inode_slot {
	struct slot_head head;
	uint64_t dev;
	uint64_t ino;
	uint64_t file_key; /* 0: empty */
	/* any, by atomic store: when the file was last found under this number, by CLOCK_REALTIME;
	 * not under the check.  A file that was made later has the number anew. */
	uint64_t found_realtime_ns;
};
#define INODE_CHECKED_BYTES offsetof(struct inode_slot, found_realtime_ns)

/* What a scope was given; or, under a key of its own, a note of how it was answered (delivery.h).
 * Written under the slot protocol by any process. */
struct delivery_slot {
	struct slot_head head;
	uint64_t scope_id; /* 0: empty */
	uint64_t file_key;
	uint64_t session_epoch;
	uint64_t scope_epoch;
	/* it counts only while that command stays within its limit; 0: forgotten, or a note;
	 * DELIVERY_UNCUT */
	uint64_t command_id;
	struct version version;
	uint64_t request;     /* number of the request in its scope */
	uint64_t bytes_given; /* of the scope at that moment */
	uint64_t time_ns;
	uint64_t notice_request; /* number of the request that got the last notice; 0: none */
	uint64_t yield_until;    /* given in full up to this request */
};

/* What a scope takes a file's content to be (baseline.h).  Written under the slot protocol by any
 * process. */
struct baseline_slot {
	struct slot_head head;
	uint64_t scope_id; /* 0: empty; BASELINE_SESSION: of those whose agent is gone */
	uint64_t file_key;
	struct version known; /* none: nothing yet */
	struct version
		recent; /* read since; becomes known when the first of those reads is old enough */
	uint64_t known_ns;
	uint64_t recent_ns; /* of the first read of that version; 0: there is none */
	uint64_t last_ns;   /* of the last change of this slot, or read of the file */
	uint64_t is_given; /* 1: `known` was given or made, 0: it was read, and nothing else is known */
};

/* Lines of a file that a scope was given, by one request. */
struct line_range {
	uint64_t first; /* from 1; 0: none */
	uint64_t last;
	uint64_t command_id; /* as a delivery's */
	uint64_t request;
	uint64_t bytes_given;
	uint64_t time_ns;
};

enum { LINE_RANGES_MAX = 8 };

/* What a scope was given of a file in parts (part.h).  Written under the slot protocol by any
 * process. */
struct line_range_slot {
	struct slot_head head;
	uint64_t scope_id; /* 0: empty */
	uint64_t file_key;
	uint64_t session_epoch;
	uint64_t scope_epoch;
	struct version version; /* of the whole file */
	uint64_t line_count;    /* of the whole file; 0: forgotten */
	uint64_t time_ns;       /* of the last part */
	struct line_range parts[LINE_RANGES_MAX];
	/* of the last part of another version than `version`, as far as that was recorded here; 0: none */
	uint64_t other_ns;
};

/* An instruction file that a scope was given, in a version (instruction.h).  Written under the slot
 * protocol by any process. */
struct instruction_slot {
	struct slot_head head;
	uint64_t scope_id; /* 0: empty */
	uint64_t key;      /* of file and version; never 0 */
	uint64_t session_epoch;
	uint64_t scope_epoch;
	uint64_t command_id; /* as of a delivery; 0: forgotten */
	uint64_t dev, ino;
	struct version version;
	uint64_t time_ns;
};

/* A directory of the workspace that holds instruction files.  `seen run`, by atomic stores; a key
 * is never taken back. */
struct instruction_directory_slot {
	uint64_t key; /* path_key() of the directory; 0: empty */
	/* a bit for each name of [context] files, the last one for all further ones */
	uint64_t names;
};

/* A reader's command whose output a scope was given (remembered.h).  Written under the slot
 * protocol by any process. */
struct remembered_slot {
	struct slot_head head;
	uint64_t scope_id;       /* 0: empty */
	uint64_t key;            /* of `identity` */
	struct version identity; /* of all that says what the command is */
	uint64_t session_epoch;
	uint64_t scope_epoch;
	uint64_t command_id; /* as a delivery's; 0: forgotten */
	uint64_t request;    /* number of the request in its scope */
	uint64_t bytes_given;
	uint64_t time_ns;
	uint64_t output_bytes;
	uint64_t file;           /* that the list of its inputs is in (contents.h) */
	struct version inputs;   /* of the bytes of that list */
	uint64_t notice_request; /* number of the request that got the last notice; 0: none */
	uint64_t yield_until;    /* given in full up to this request */
};

/* A warning of the guard that could not be printed (unreported.h).  Written under the slot protocol
 * by any process. */
struct unreported_slot {
	struct slot_head head;
	uint64_t scope_id;     /* of the writer; 0: empty */
	uint64_t path_key;     /* of the path that it wrote to */
	struct version before; /* what was there */
	uint64_t changer;      /* as in struct guard_answer */
	uint32_t reason;       /* enum guard_reason */
	uint32_t kept;         /* `before` is in the content store */
};

/* A file that rules keep from programs (protected.h).  Any process claims a free slot by
 * compare-and-swap, fills it in and publishes it; then `creation_ns` and `rules` by atomic stores. */
struct protected_slot {
	uint64_t state; /* enum protected_state */
	uint64_t dev, ino;
	uint64_t creation_ns; /* 0: the file system does not say */
	uint64_t rules;       /* bits: indices into settings.rules */
};

enum protected_state { PROTECTED_FREE, PROTECTED_CLAIMED, PROTECTED_NOTED };

/* Which parts of a table are in use: of tables of files, scopes and pairs, a bit for each part of which a
 * slot was ever given to something (segment_use()).  Any process, by atomic or. */
struct used_slot {
	uint64_t parts[8];
};

enum { USED_PARTS = 8 * 64 };

enum { UNREPORTED_MAX = 64 }; /* a bit each in the header's word */

/* How tables of pairs begin (pair.h). */
_Static_assert(offsetof(struct instruction_slot, key) == 16, "a pair's key");
_Static_assert(offsetof(struct delivery_slot, file_key) == 16, "a pair's key");
_Static_assert(offsetof(struct baseline_slot, file_key) == 16, "a pair's key");
_Static_assert(offsetof(struct line_range_slot, file_key) == 16, "a pair's key");
_Static_assert(offsetof(struct remembered_slot, key) == 16, "a pair's key");
_Static_assert(sizeof(struct context) == 120, "context is part of the segment's ABI");
_Static_assert(sizeof(struct process_slot) == 256, "process_slot is part of the segment's ABI");
_Static_assert(sizeof(struct scope_slot) == 336, "scope_slot is part of the segment's ABI");
_Static_assert(sizeof(struct capture_slot) == 112, "capture_slot is part of the segment's ABI");
_Static_assert(sizeof(struct command_slot) == 96, "command_slot is part of the segment's ABI");
_Static_assert(sizeof(struct file_slot) == 264, "file_slot is part of the segment's ABI");
_Static_assert(sizeof(struct inode_slot) == 40, "inode_slot is part of the segment's ABI");
_Static_assert(sizeof(struct delivery_slot) == 112, "delivery_slot is part of the segment's ABI");
_Static_assert(sizeof(struct baseline_slot) == 104, "baseline_slot is part of the segment's ABI");
_Static_assert(sizeof(struct line_range_slot) == 472, "part_slot is part of the segment's ABI");
_Static_assert(sizeof(struct instruction_slot) == 96,
	       "instruction_slot is part of the segment's ABI");
_Static_assert(sizeof(struct instruction_directory_slot) == 16,
	       "instruction_folder_slot is part of the segment's ABI");
_Static_assert(sizeof(struct remembered_slot) == 152,
	       "remembered_slot is part of the segment's ABI");
_Static_assert(sizeof(struct protected_slot) == 40, "protected_slot is part of the segment's ABI");
_Static_assert(sizeof(struct used_slot) == 64, "used_slot is part of the segment's ABI");
_Static_assert(sizeof(struct unreported_slot) == 64,
	       "unreported_slot is part of the segment's ABI");

#endif
