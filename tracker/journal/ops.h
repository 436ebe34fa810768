/*
 * What is declared of each op of the journal (ops.def), for callers that ask what kind of event a
 * record is.
 *
 * A new op brings its answers with it: those who follow events ask these, and not for ops by name.
 * A switch over an enum of this header has no `default`: the compiler names each place that does
 * not know a new value.
 */
#ifndef SEEN_TRACKER_JOURNAL_OPS_H
#define SEEN_TRACKER_JOURNAL_OPS_H

#include <stdint.h>

/* What an op does. */
enum op_effect {
	EFFECT_NONE, /* nothing that is counted or followed beyond the op's own event */
	/* to a process */
	EFFECT_STARTS,
	EFFECT_FORKS,
	EFFECT_ANNOUNCES, /* a program is about to start; its START refers to this record */
	EFFECT_WITHDRAWS, /* it did not */
	EFFECT_ENDS,
	/* to a file, a directory or a name, by a call */
	EFFECT_OPENS,
	EFFECT_LISTS,
	EFFECT_READS,  /* `amount` bytes: the first call's, or the total, which holds these */
	EFFECT_WRITES, /* likewise */
	EFFECT_MAPS,
	EFFECT_CREATES,
	EFFECT_DELETES,
	EFFECT_RENAMES,
	EFFECT_LINKS,
	EFFECT_SYMLINKS,
	EFFECT_RESIZES,
	EFFECT_SETS, /* metadata */
	EFFECT_ENTERS,
	/* to what the agent was given of a file, or of a command's output */
	EFFECT_ANSWERS, /* `amount` bytes were replaced by a notice */
	EFFECT_DIFFS,   /* likewise, by what changed */
	EFFECT_YIELDS,
	EFFECT_GIVES,    /* `amount` bytes */
	EFFECT_MENTIONS, /* by the user */
	EFFECT_COMMANDS,
	/* to a file, as found when it was complete */
	EFFECT_EDITS,   /* by the session */
	EFFECT_CHANGES, /* by no observed process of it */
	/* nothing by itself: the access that it is about has an event of its own, or was refused */
	EFFECT_JUDGES, /* by the guard */
	EFFECT_RULES,
	/* to what the session knows of the agent: its scope begins anew, or without these files */
	EFFECT_FORGETS,
};

/* Where the source of a change (tracker/process/source.h) is found. */
enum op_author {
	AUTHOR_NONE,     /* no change */
	AUTHOR_CALLER,   /* the record's process, if the call succeeded */
	AUTHOR_OPENER,   /* the same where the flags of open(2) say that it is to write */
	AUTHOR_MAPPER,   /* the same of a shared mapping for writing */
	AUTHOR_RECORDED, /* the record's `decision` is the enum source */
	AUTHOR_READER,   /* no change: SOURCE_READ */
	AUTHOR_USER,     /* no change: SOURCE_MENTIONED */
};

enum op_traits {
	OP_NO_EVENT = 1,   /* a part of other records, or of none */
	OP_NO_SUBJECT = 2, /* about its process: there is no path or name */
	/* `path` is a program's: without a slash it is a name to be found through PATH */
	OP_PROGRAM = 4,
	/* `other_path`, `fd` and `amount` are a second name, as `path`, `directory_fd` and
	 * `directory` */
	OP_TWO_NAMES = 8,
	OP_ENTERS = 16,        /* a later `directory` may refer to this record */
	OP_OF_DESCRIPTOR = 32, /* `path` is that of the descriptor's own open */
	OP_BY_DESCRIPTOR = 64, /* the same, where `fd` is not -1 */
	OP_OUTCOME_OPEN = 128, /* written before the result is known, or where it cannot be */
	OP_AMOUNT = 256,       /* its particulars are its `amount` */
	OP_WORK = 512,         /* work on a file that instruction files of its directory are for */
	OP_NOTED = 1024,       /* people who watch a session are shown it as it happens */
};

/* What ops.def declares of an op.  Texts are static. */
struct op {
	const char *name;  /* "open" ...; NULL: of a number that is none */
	const char *words; /* that people type for it, separated by a space */
	uint8_t effect;    /* enum op_effect */
	uint8_t author;    /* enum op_author */
	uint16_t traits;   /* enum op_traits */
};

/* op_info(): what is declared of a number.  op: from a record, perhaps of a later version: then
 * nothing is.  Never NULL; pure. */
const struct op *op_info(unsigned op);

/* journal_op_name(): "open" ...; NULL for a number that is none. */
const char *journal_op_name(unsigned op);

#endif
