/*
 * A request: one viewer or reader process, or one in-process read of a whitelisted process.  What
 * both mechanisms do with one; neither knows how a process is observed.
 *
 * All functions are lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_REQUEST_H
#define SEEN_TRACKER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* Who asks: filled once per request, by the mechanism. */
struct request {
	struct subject subject;
	struct context context;
	uint64_t number; /* in its scope, from 1 */
	/* else it used nothing of the window up, and has the number that the next one will have */
	bool is_counted;
	uint64_t command_id;
	bool is_viewer;
	/* descriptor 1 is, now, the capture recorded for this process, which its agent alone
	 * reads */
	bool at_sink;
	bool is_asked;   /* at_sink was inspected, if only once */
	bool is_unknown; /* counted: it is not known who reads it */
	/* process_pid_ns() of the subject, where it is the caller and no copy of it; 0: to be asked
	 * for */
	uint64_t pid_ns;
	/* at_sink is not known yet: decision_open() finds it where an answer depends on it, and
	 * walks /proc */
	bool asks_late;
	/* its mechanism can give what changed instead of a file (DECISION_DIFF) */
	bool accepts_diff;
	/* an in-process read of a whitelisted process: its context's scope is of that process
	 * alone */
	bool is_in_process;
	/* is_in_process: the agent's own hook tells it, with what the model is given: that is known
	 * whole */
	bool is_reported;
	/* is_reported: the hook names the conversation that asks, and reports each that begins, goes back,
	 * or goes on after or beside another one, before that asks: SCOPE_MUTE says nothing here */
	bool is_turn_reported;
	/* is_reported: who asks has the texts that were given, beside the content store */
	bool has_texts;
	/* is_in_process: of its agent: what that forgets is forgotten here too; 0: none */
	uint64_t agent_scope_id;
};

/* request_is_received(): does what the process is given reach the request's scope? */
static inline bool request_is_received(const struct request *request)
{
	return request->is_in_process || request->at_sink;
}

/* request_init(): a viewer or reader, by its context's role, is one request of its scope: sets
 * number and command_id.
 * subject and context are set before.  Without a scope it has the number 0 and no command.
 *
 * probes: of a reader's invocation.  One that asks for nothing in the workspace is not counted, nor
 * is a viewer before request_concerns(). */
void request_init(const struct segment *segment, struct request *request, bool probes);

/* request_concerns(): a viewer opens that file.  path: absolute, normalized.  No system call. */
void request_concerns(const struct segment *segment, struct request *request, const char *path);

/* request_prepare_in_process(): makes the request that all in-process reads of a whitelisted
 * process begin as, and its scope.
 *
 * context: of the process.  serial: of its slot.  agent_scope_id: baseline_scope() of it.  name: of
 * the program.
 * Returns false when there can be no scope: then nothing is answered. */
bool request_prepare_in_process(const struct segment *segment, const struct context *context,
				uint64_t serial, uint64_t agent_scope_id, const char *name,
				struct request *ret_request);

/* request_prepare_reported(): the same of a read that the agent's hook reports.  Each conversation
 * has a scope of its own.
 *
 * context: of the agent.  agent_scope_id: that of its commands, which is on record.  conversation:
 * the agent's id of it. */
bool request_prepare_reported(const struct segment *segment, const struct context *context,
			      uint64_t agent_scope_id, const char *conversation,
			      struct request *ret_request);

/* request_init_in_process(): an in-process read, prepared as above, begins: sets number. */
void request_init_in_process(const struct segment *segment, struct request *request);

/* request_count_in_process(): an in-process read gave bytes: they count towards its scope's
 * window. */
void request_count_in_process(const struct segment *segment, const struct request *request,
			      uint64_t bytes);

/* request_cancel(): it was begun by the wrong one: as if it had not been. */
void request_cancel(const struct segment *segment, struct request *request);

/* request_has_capture(): is descriptor 1, now, the capture recorded for this process?  The answer
 * does not depend on its agent. */
bool request_has_capture(const struct segment *segment, const struct request *request);

/* request_at_sink(): finds whether descriptor 1 is the capture, and who reads that (receiver.h),
 * and sets at_sink.  Walks /proc. */
void request_at_sink(const struct segment *segment, struct request *request);

/* request_confirm_sink(): the same once a request, for what is only recorded as given: an answer
 * asks each time. */
void request_confirm_sink(const struct segment *segment, struct request *request);

/* request_still_at_sink(): at the end, when descriptor 1 may be closed, and its reader may have
 * closed it, too: clears at_sink where the agent or the shell has gone. */
void request_still_at_sink(const struct segment *segment, struct request *request);

/* request_wrote(): the process wrote to descriptor 1: `now` in all, `before` of it counted already
 * (NULL: nothing).  It counts towards its command's output and its scope's window.  Nothing where
 * descriptor 1 was no capture when it began (it then has no command). */
void request_wrote(const struct segment *segment, const struct request *request,
		   const struct shape *before, const struct shape *now);

/* request_unwrote(): what was counted is not written after all. */
void request_unwrote(const struct segment *segment, const struct request *request,
		     const struct shape *shape);

/* request_end_reader(): the same for all that a reader wrote, at its end (proc(5), io); descriptor
 * 1 may be closed by now.
 * pid: of the request's process, as it is known by then.  known: of what it wrote, as far as that
 * is known; NULL: not at all. */
void request_end_reader(const struct segment *segment, const struct request *request, uint32_t pid,
			const struct shape *known);

#endif
