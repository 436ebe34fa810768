/*
 * `seen top`: a session as it goes on, in a terminal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/session/journal_file.h"
#include "cli/session/session.h"
#include "cli/session/session_find.h"
#include "cli/top/top_display.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_feed.h"
#include "cli/top/top_steps.h"
#include "cli/top/top_undo.h"
#include "tracker/sys/sys.h"

enum {
	INTERVAL_MS = 1000,
	INTERVAL_MS_MIN = 100,
	INTERVAL_MS_MAX = 60000,
	/* Where there is much to read: for so long, then a rest, so that half of a processor is
	 * taken at most. */
	READ_MS = 40,
	REST_MS = 40,
	DRAW_MS = 200, /* between two drawings meanwhile */
};

#define MS_NS UINT64_C(1000000)

static const char *session_name, *interval;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--interval", "MS", "milliseconds between two readings, 100 to 60000; default: 1000",
	  NULL, &interval },
};

static const struct options OPTIONS = {
	.usage = "top [OPTION...]",
	.summary = "Shows a session as it goes on: files, processes, notices, conflicts, rates, "
		   "steps. q quits, h lists the keys. p undoes the last step after asking; else "
		   "the session is only read. The program stays when that ends.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

static int parse_interval(uint64_t *ret_ms)
{
	char *end;

	*ret_ms = INTERVAL_MS;
	if (!interval)
		return EXIT_CODE_OK;
	errno = 0;
	uintmax_t number = strtoumax(interval, &end, 10);
	if (interval[0] < '0' || interval[0] > '9' || *end || errno || number < INTERVAL_MS_MIN ||
	    number > INTERVAL_MS_MAX) {
		message("--interval: '%s' is no number from %d to %d", interval, INTERVAL_MS_MIN,
			INTERVAL_MS_MAX);
		return EXIT_CODE_USAGE;
	}
	*ret_ms = number;
	return EXIT_CODE_OK;
}

/* Milliseconds until then. */
static int ms_until(uint64_t then_ns, uint64_t now_ns)
{
	return then_ns > now_ns ? (int)((then_ns - now_ns + MS_NS - 1) / MS_NS) : 0;
}

/* The steps are read where they are shown alone. */
static void update_steps(const struct top_feed *feed, const struct top_display *view,
			 uint64_t interval_ms, struct top_steps *steps)
{
	if (view->pane == TOP_STEPS && !view->is_paused && feed->caught_up && !feed->is_removed &&
	    top_steps_update(steps, feed->model->events, interval_ms) < 0)
		(void)clearok(curscr, TRUE); /* why was written to the terminal */
	top_steps_filter(steps, view->filter);
}

/* What a key asks the program for.  Returns false: it is to end. */
static bool act(enum top_action action, struct top_feed *feed, struct top_steps *steps)
{
	if (action == TOP_RESET)
		top_feed_reset_rates(feed);
	if (action != TOP_UNDO)
		return action != TOP_QUIT;
	bool goes_on = top_undo_last(steps->config, steps->session);
	top_steps_expire(steps);
	return goes_on;
}

static void run_display(struct top_feed *feed, uint64_t interval_ms, struct top_steps *steps)
{
	struct top_display view = { .pane = TOP_FILES };
	struct top_rows rows = { .files = NULL };
	uint64_t next_read_ns = 0, next_draw_ns = 0;
	bool more = false;

	for (;;) {
		uint64_t now_ns = sys_boottime_ns();
		if (now_ns >= next_read_ns && !view.is_paused) {
			more = top_feed_read(feed, READ_MS * MS_NS);
			(void)top_feed_update(feed);
			now_ns = sys_boottime_ns();
			next_read_ns = now_ns + (more ? REST_MS : interval_ms) * MS_NS;
			if (!more)
				next_draw_ns = 0;
		}
		if (now_ns >= next_draw_ns) {
			update_steps(feed, &view, interval_ms, steps);
			top_draw(feed, &view, &rows, steps);
			now_ns = sys_boottime_ns();
			next_draw_ns = now_ns + (more ? DRAW_MS : interval_ms) * MS_NS;
		}
		uint64_t next_ns = view.is_paused || next_draw_ns < next_read_ns ? next_draw_ns
										 : next_read_ns;
		int32_t key = screen_wait(ms_until(next_ns, now_ns));
		if (key == SCREEN_WAIT_END)
			break;
		if (key == SCREEN_WAIT_NOTHING)
			continue;
		next_draw_ns = 0;
		enum top_action action = key < 0 ? TOP_GO_ON
						 : top_display_key(&view, (uint32_t)key);
		if (!act(action, feed, steps))
			break;
	}
	top_rows_free(&rows);
}

static int show(const struct config *config, const struct session *session, uint64_t interval_ms)
{
	struct top_steps steps = { .config = config, .session = session->name };
	const char *journal = session_journal(session);
	struct top_feed feed;
	int error = top_feed_open(session, journal, &feed);

	if (error < 0)
		return journal_file_failed(journal, error);
	error = screen_open();
	if (error < 0) {
		top_feed_close(&feed);
		if (error == -ENOTTY)
			message("top draws on a terminal; `seen status` and `seen log -f` write "
				"anywhere");
		else
			message("top cannot draw on a terminal of this kind (TERM=%s); `seen "
				"status` and "
				"`seen log -f` can",
				getenv("TERM") ? getenv("TERM") : "");
		return EXIT_CODE_NO_TERMINAL;
	}
	screen_draw_init();
	run_display(&feed, interval_ms, &steps);
	screen_close();
	top_steps_free(&steps);
	top_feed_close(&feed);
	screen_exit();
	return EXIT_CODE_OK;
}

int cmd_top(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	uint64_t interval_ms;
	int code;

	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		code = parse_interval(&interval_ms);
		if (code == EXIT_CODE_OK && options_load(&parsed, &code) == 0) {
			code = session_find(parsed.config, session_name, &session);
			if (code == EXIT_CODE_OK) {
				code = show(parsed.config, &session, interval_ms);
				session_close(&session);
			}
		}
	}
	options_done(&parsed);
	return code;
}
