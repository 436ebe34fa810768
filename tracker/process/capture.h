/*
 * Captures and commands.  A capture is the stream through which an agent receives a command's
 * output; a command is all that runs below one capture, or, in a long-lived shell, all requests
 * less than a second apart.  Agents cut a command's output, so what a command's viewers and readers
 * sent in all decides whether any of it counts as delivered.
 *
 * All functions are lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_CAPTURE_H
#define SEEN_TRACKER_CAPTURE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* Linux's list of devices (admin-guide/devices.txt): pseudo-terminals. */
enum { MAJOR_PTY_SLAVE_FIRST = 136, MAJOR_PTY_SLAVE_LAST = 143 };

/* is_terminal_device(): a terminal by its device, as far as it may be a capture: not /dev/tty. */
bool is_terminal_device(const struct stat *stat);

/* capture_claim(): records descriptor 1 of a process as a capture, if it may be one.
 *
 * context: of the process; says whether the agent is inside the session or external to it, and what
 * the root's and the agent's own outputs are.  long_lived: commands are told apart by pauses. 
 * Rules (docs/design/processes.md):
 * never /dev/null or another device, never the agent's own descriptors 1 and 2, never the root's
 * own descriptor 1 under inside; there a FIFO with a name never, and a regular file only when it
 * has no name, or is a spool file of the agent's profile: one that its globs name, opened O_APPEND,
 * outside the workspace; with an external agent, a pipe or socket only where the user said so.  Who
 * reads it is not asked here (receiver.h).
 * Returns the capture's id, 0 when it is none.
 */
uint64_t capture_claim(const struct segment *segment, struct subject subject,
		       const struct context *context, bool long_lived);

/* capture_is_sink(): is descriptor 1 of a process the recorded capture?  By (dev, ino),
 * and for a file by its creation time, and that it still is what it was taken for. */
bool capture_is_sink(const struct segment *segment, struct subject subject, uint64_t capture_id);

/* capture_concerns(): must it be known of a program who reads its output?  Of a viewer or reader below a capture, and of
 * a shell below an agent that may have one yet.  context: of its announcement, with its starter's capture. */
bool capture_concerns(const struct context *context, uint32_t role);

/* capture_find(): a consistent copy of what is recorded of a capture.  False when it is not
 * known. */
bool capture_find(const struct segment *segment, uint64_t id, struct capture_slot *ret_copy);

/* capture_is_errors(): is an open file the stream that the agent reads as its command's standard
 * error: descriptor 2 of the shell, as it was when that began, and none of the agent's own
 * outputs? */
bool capture_is_errors(const struct segment *segment, const struct context *context,
		       const struct stat *stat);

/* capture_shell(): pid of the shell whose descriptor 1 the capture is, 0 when the capture is not
 * known. */
uint32_t capture_shell(const struct segment *segment, uint64_t capture_id);

/* capture_command(): the command that a request at this capture belongs to, made where needed; the
 * one before it in a long-lived shell is closed.  Returns its id, 0 for none. */
uint64_t capture_command(const struct segment *segment, uint64_t capture_id);

/* command_reader(): a reader begins (1) or has said what it sent (-1).  One that is killed between
 * never says. */
void command_reader(const struct segment *segment, uint64_t command_id, int change);

/* command_add(): counts what a viewer or reader sent to the capture: `now` in all, `before` of it
 * counted already; NULL: none. */
void command_add(const struct segment *segment, uint64_t command_id, const struct shape *before,
		 const struct shape *now);

/* command_remove(): what was counted is not sent after all.  The longest line stays. */
void command_remove(const struct segment *segment, uint64_t command_id, const struct shape *shape);

/* What a command may print so that its agent passes it on whole; UINT64_MAX: any number. */
struct output_limits {
	uint64_t bytes;
	uint64_t lines;
	uint64_t line_bytes; /* of each line */
	bool is_measured;    /* for this agent; else they are assumed */
};

/* command_aside(): of what the kernel counts as written by a process of the command, so many bytes
 * went elsewhere: to files of the library's own. */
void command_aside(const struct segment *segment, uint64_t command_id, uint64_t bytes);

/* capture_aside(): of what the kernel counts as written by the program of a capture's shell, so many bytes
 * went to files of the library's own.  To be called once, before that becomes another program or ends.
 * Returns the command, made where needed, for command_aside() with the negative number where it goes on
 * after all; 0: nothing was left out. */
uint64_t capture_aside(const struct segment *segment, uint64_t capture_id, uint64_t bytes);

/* capture_finish(): a process, which is the capture's shell or the program that replaced its image,
 * is about to end: closes the command with all that was written by it and by the children it waited
 * for (proc(5), io), or for a file by how much that grew.  Too much is counted where they wrote
 * elsewhere, never too little but for children that still run.  Makes system calls. */
void capture_finish(const struct segment *segment, struct subject subject, uint64_t capture_id);

/* command_within(): did all that the command wrote keep to the limits?  For a command that has
 * ended.  Of what others than viewers and readers wrote, each byte may be a line.  False when it is
 * not known: the command or one of its readers was killed, or its last program was not observed. */
bool command_within(const struct segment *segment, uint64_t command_id,
		    const struct output_limits *limits);

/* command_within_so_far(): the same for a command that still runs, by what its shell and its
 * viewers and readers wrote up to now. */
bool command_within_so_far(const struct segment *segment, uint64_t capture_id, uint64_t command_id,
			   const struct output_limits *limits);

/* command_prove(), command_proof(), what a transcript holds of the command (proof.h).  -ENOENT,
 * PROOF_NONE: it is not in the table any more. */
int command_prove(const struct segment *segment, uint64_t command_id, enum proof proof);
enum proof command_proof(const struct segment *segment, uint64_t command_id);

/* command_bytes(): what its viewers and readers sent so far.  False when it is not in the table any
 * more. */
bool command_bytes(const struct segment *segment, uint64_t command_id, uint64_t *ret_bytes);

#endif
