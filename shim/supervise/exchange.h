/* A trapped call that waits for its answer, and the answer. */
#ifndef SEEN_SUPERVISE_EXCHANGE_H
#define SEEN_SUPERVISE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/start/compat.h"

/* A call that waits for its answer. */
struct exchange {
	int listener;
	const struct seccomp_notif *call;
	uint64_t received_ns; /* when it was taken, by CLOCK_MONOTONIC */
	/* Called before the first look that takes long: others may take calls from then on.  For
	 * the one who took it. */
	void (*note_slow)(struct exchange *exchange);
	bool is_long; /* it was */
	int refusal;  /* a negative errno: it fails so, where it would pass; 0: none */
};

/* exchange_note_slow(): what follows takes longer than to wake another thread. */
static inline void exchange_note_slow(struct exchange *exchange)
{
	if (!exchange->is_long)
		exchange->note_slow(exchange);
	exchange->is_long = true;
}

/* exchange_ask(): an ioctl of a listener, again where a signal interrupts it, as a stop of the supervisor does while threads
 * wait for each other there: else its process would wait for ever.  Returns what the kernel does, or a negative errno. */
int exchange_ask(int listener, unsigned long request, void *data);

/* exchange_is_valid(): does it still wait?  What was read of its process is worthless if not. */
bool exchange_is_valid(const struct exchange *exchange);

/* exchange_add(): adds a copy of a descriptor to the process, which the call returns: it is
 * answered then.
 * Returns the descriptor's number there, or a negative errno; the call then waits still, but for
 * -ENOENT: it is gone. */
int exchange_add(const struct exchange *exchange, int fd, bool close_on_exec);

/* What is to be answered. */
enum verdict_kind {
	VERDICT_PASS,     /* the process makes the call by itself */
	VERDICT_FAIL,     /* it fails, by `value`, a negative errno */
	VERDICT_RETURN,   /* it returns `value` */
	VERDICT_ANSWERED, /* it has been */
};

struct verdict {
	enum verdict_kind kind;
	int64_t value;
};

static const struct verdict PASS = { VERDICT_PASS, 0 };

static inline struct verdict verdict_fail(int error)
{
	return (struct verdict){ VERDICT_FAIL, error };
}

#endif
