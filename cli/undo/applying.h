/* A plan that is being done: what the files of it share (apply.c, apply_remove.c, apply_make.c,
 * apply_meta.c). */
#ifndef SEEN_CLI_APPLYING_H
#define SEEN_CLI_APPLYING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/undo/apply_fresh.h"
#include "cli/undo/operation_log.h"
#include "cli/undo/place.h"
#include "cli/undo/schedule.h"

enum { APPLYING_TEMPORARY_BYTES = 48, APPLYING_OPENED_MAX = 32 };

/* A directory that was made writable for a while. */
struct applying_opened {
	int fd; /* O_PATH */
	uint64_t dev, ino;
	mode_t mode; /* that it had, with its type */
};

struct applying {
	struct schedule *plan;
	const struct tree_records *records;
	struct operation_log log;
	struct places places;
	struct apply_fresh fresh; /* for files in the making */
	bool again;
	struct applying_opened opened[APPLYING_OPENED_MAX];
	size_t opened_count;
};

/* An item, and what there is of it. */
struct doing {
	struct applying *applying;
	struct schedule_item *item;
	const struct tree_record *content;        /* NULL: none, or it is gone */
	const char *path, *other;                 /* other: "": none */
	const char *name;                         /* of the path in its directory */
	int directory;                            /* borrowed, until another path is reached */
	char temporary[APPLYING_TEMPORARY_BYTES]; /* a name in that directory, or in `fresh` */
	bool is_fresh;                            /* what is made has its temporary name there */
	bool exists;
	struct pack_state now;
};

/* Answers of the functions below: DONE, or why not. */
enum doing_answer {
	DOING_DONE = 0,
	DOING_CHANGED = 1, /* what is there is not what the plan says: it is left */
};

/* applying_ends(): is there no use in going on?  Then the item is one that `seen undo --continue` begins with. */
bool applying_ends(int answer);

/* doing_start(): reaches an item's path and inspects it.  Returns 0 or a negative errno. */
int doing_start(struct applying *applying, size_t index, struct doing *ret_doing);

/* doing_is_found(): is what is there what the plan found? */
bool doing_is_found(const struct doing *doing);

/* doing_content_open(): opens the content of what is made, which is checked.  Returns a descriptor;
 * -ENODATA; errors of tree_record_open(). */
int doing_content_open(const struct doing *doing);

/* doing_open(): opens what is there for reading, of which `now` is.  -1: it cannot be read.
 * doing_log(): keeps what is there with the first note, and appends all of them.  removes: it loses
 * its name.  Returns 0 or a negative errno. */
int doing_open(const struct doing *doing);
int doing_log(struct doing *doing, struct operation_note *notes, size_t count, int fd,
	      bool removes);

#endif
