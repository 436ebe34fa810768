/* Where a run records to: see recording.h. */
#include "cli/run/recording.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "cli/agents/agent_version.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/run/metadata.h"
#include "cli/session/journal_file.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"

/* Has the pages of the journal that are written next in memory: the first store to one that is not
 * takes its writer microseconds, for the file system's sake.  next: the journal's end.  written:
 * since the last turn. */
static void touch_journal(struct recording *recording, uint64_t next, uint64_t written)
{
	enum { AHEAD_UNITS = 8192, AHEAD_UNITS_MAX = 131072, TURNS = 4 };

	if (written > recording->most)
		recording->most = written;
	uint64_t ahead = TURNS * recording->most;
	ahead = ahead < AHEAD_UNITS ? AHEAD_UNITS : ahead;
	ahead = ahead > AHEAD_UNITS_MAX ? AHEAD_UNITS_MAX : ahead;
	uint64_t from = recording->touched > next ? recording->touched : next;
	if (from - next <= ahead / 2)
		recording->touched = journal_touch(&recording->journal, from, next + ahead);
}

bool recording_tend_journal(struct recording *recording)
{
	enum { UNITS_MIN = 4 * JOURNAL_ROOM_UNITS };
	bool first = recording && !recording->touched;
	struct journal *journal = recording ? &recording->journal : NULL;

	if (!journal || !journal->header)
		return false;
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_RELAXED);
	uint64_t written = !first && next > recording->last ? next - recording->last : 0;
	recording->last = next;
	if (written)
		journal_make_room(journal, UNITS_MIN + 2 * written);
	if (written || first)
		touch_journal(recording, next, written);
	return written;
}

unsigned recording_tend(struct recording *recording)
{
	unsigned journal_ms = recording_tend_journal(recording) ? RECORDING_SOON_MS
								: RECORDING_LATER_MS;
	unsigned watch_ms = watch_tick(recording->watch);
	unsigned checkpoint_ms = checkpoint_tick(&recording->checkpoint);

	unsigned transcripts_ms = transcripts_tick(recording->transcripts);
	agent_versions_tick(&recording->session->segment);
	watch_leave_out(recording->watch, recording->checkpoint.running);
	protect_tick(recording->protect);
	metadata_tick();
	unsigned least_ms = watch_ms < checkpoint_ms ? watch_ms : checkpoint_ms;
	least_ms = transcripts_ms < least_ms ? transcripts_ms : least_ms;
	return journal_ms < least_ms ? journal_ms : least_ms;
}

int recording_next_signal(struct recording *recording, const sigset_t *all, unsigned wait_ms,
			  siginfo_t *ret_info)
{
	struct timespec wait = { .tv_nsec = (long)wait_ms * 1000000 };
	int watched = watch_descriptor(recording->watch),
	    conversations_report = transcripts_descriptor(recording->transcripts);
	bool polls = watched >= 0 || conversations_report >= 0;

	if (polls && recording->signals < 0)
		recording->signals = signalfd(-1, all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (polls && recording->signals >= 0) {
		/* One that is negative is passed over. */
		struct pollfd any[] = { { .fd = watched, .events = POLLIN },
					{ .fd = conversations_report, .events = POLLIN },
					{ .fd = recording->signals, .events = POLLIN } };
		(void)ppoll(any, 3, &wait, NULL);
		wait = (struct timespec){ 0 };
	}
	return sigtimedwait(all, ret_info, &wait);
}

void recording_open_journal(const struct session *session, struct journal *ret_journal)
{
	const char *path = session_journal(session);
	int error = session_map_journal(session, ret_journal);

	if (error < 0)
		message("no journal: %s%s%s; what is accessed is not recorded", path ? path : "",
			path ? ": " : "",
			path || error != -ENOENT ? journal_file_explain(error)
						 : "this session has none");
}

void recording_renew_journal(const struct session *session, const struct journal_header *begun,
			     struct journal *journal)
{
	const uint64_t dev = journal->dev, ino = journal->ino;
	const char *path = session_journal(session);

	if (!journal->header)
		return;
	journal_unmap(journal);
	int error = session_map_journal(session, journal);
	if (error == 0 &&
	    (!journal->header || journal->dev != dev || journal->ino != ino ||
	     memcmp(journal->header->nonce, begun->nonce, sizeof(begun->nonce)) != 0 ||
	     journal->header->next < begun->next || journal->header->lost < begun->lost))
		error = -EBADMSG;
	if (error == 0)
		return;
	journal_unmap(journal);
	message("the journal %s: %s: what was recorded in this run is not to be had",
		path ? path : "", journal_file_explain(error));
}

void recording_finish_journal(const struct session *session, struct journal *journal,
			      const struct summary *sum, bool shown, enum seal_sync when)
{
	struct seal_result seal;
	char number[TEXT_NUMBER_BYTES];

	if (!journal->header)
		return;
	coverage_record(&sum->coverage, journal);
	int error = seal_append(session_journal(session), journal, when, &seal);
	if (error)
		message("the journal %s could not be sealed: %s", session_journal(session),
			journal_file_explain(error));
	else if (shown)
		(void)fprintf(stderr, "seen: sealed %s records, %s\n",
			      text_number(seal.records, number), seal.digest);
}
