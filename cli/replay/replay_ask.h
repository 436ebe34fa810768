/*
 * What a command line asks for: whether it is made of viewers and readers (tracker/process/role.h)
 * alone, and which lines of which file it shows.  For cli/replay/replay.c; told by the text, as the
 * tracker tells it by the arguments.
 */
#ifndef SEEN_CLI_REPLAY_ASK_H
#define SEEN_CLI_REPLAY_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/replay/command_line.h"
#include "cli/replay/replay_memory.h"
#include "cli/replay/shown.h"
#include "tracker/segment/segment.h"

struct asked {
	struct command_line line;
	bool only_asks;  /* viewers and readers, and nothing beside them */
	bool only_reads; /* readers alone */
	size_t requests; /* viewers and readers in it; of a line that is not understood, one */
	bool shows;      /* it is one of them, and shows lines of one file */
	bool is_viewer;
	const char *file; /* that it shows; in `line` */
	struct shown_as as;
	/* `head -200 f`: shows the whole file if that has fewer lines; 0: it shows all, or a part
	 * of it */
	uint64_t lines_max;
};

/* ask_parse(): takes a command line apart.
 *
 * segment: its settings say who is a viewer.  line: NUL-ended; directory: absolute, NULL: not
 * known.
 * Returns 0 or -ENOMEM; ask_free() it in either case. */
int ask_parse(const struct segment *segment, const char *line, const char *directory,
	      struct asked *ret_asked);
void ask_free(struct asked *asked);

/* ask_is_never(): is one of its commands among [requests] never? */
bool ask_is_never(const struct segment *segment, const struct asked *asked);

/* ask_key(): a number for what a command line of readers asks, in whatever words: that of the normal
 * form of each of its commands (tracker/process/normal_form.h), or of its words where it has none.
 * Whose programs they are is not known: taken for GNU's. */
uint64_t ask_key(const struct asked *asked);

/* ask_inputs(): a number that is another once an input may have changed: of files that are named,
 * when they did; where a directory may be read, or what is read is not known, when anything may
 * have. */
uint64_t ask_inputs(struct session *session, const struct asked *asked);

#endif
