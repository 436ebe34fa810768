/*
 * `seen gain`: what all sessions on disk saved, in bytes, tokens and, with a price given, money.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/sheet.h"
#include "cli/base/text.h"
#include "cli/base/tokens.h"
#include "cli/command.h"
#include "cli/journal/event_options.h"
#include "cli/report/gain.h"
#include "tracker/sys/sys.h"

static const char *days_text, *by_word, *price_text;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--days", "N", "sessions that began in the last N days; default: all", NULL, &days_text },
	{ "--by", "WHAT",
	  "a row for each agent, project, day (local; in JSON of UTC) or program that asked", NULL,
	  &by_word },
	{ "--price", "AMOUNT", "of a million input tokens, in any currency: what that comes to",
	  NULL, &price_text },
	{ "--json", NULL, "a JSON document, seen/gain/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "gain [OPTION...]",
	.summary = "Adds up what the sessions on disk saved. A session counts as a whole: for its "
		   "agents, its workspace, and the day on which it began. What `seen gc` removed "
		   "does not count. Tokens are estimates: two for seven bytes.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

static const char *const BY[] = {
	[GAIN_BY_ALL] = "all", [GAIN_BY_AGENT] = "agent",     [GAIN_BY_PROJECT] = "project",
	[GAIN_BY_DAY] = "day", [GAIN_BY_PROGRAM] = "program",
};

enum { DAYS_MAX = 36500, COST_BYTES = 48 };

static const double TOKENS_OF_PRICE = 1e6;

/* What is asked for. */
struct wish {
	uint64_t days; /* 0: all */
	double price;  /* below 0: not given */
};

/* Digits, with a point among them or not.  In no locale but C's. */
static bool parse_price(const char *text, double *ret_price)
{
	size_t whole = strspn(text, "0123456789");
	size_t point = text[whole] == '.';
	size_t rest = point ? strspn(text + whole + 1, "0123456789") : 0;

	if (!whole || (point && !rest) || text[whole + point + rest] || whole + rest > 12)
		return false;
	*ret_price = strtod(text, NULL);
	return true;
}

static int parse(struct wish *wish, struct gain *gain)
{
	wish->price = -1;
	gain->days_are_utc = json;
	if (by_word) {
		while (gain->by < GAIN_BY_COUNT && strcmp(by_word, BY[gain->by]) != 0)
			gain->by++;
		if (gain->by == GAIN_BY_ALL || gain->by == GAIN_BY_COUNT) {
			message("--by %s: agent, project, day or program", by_word);
			return EXIT_CODE_USAGE;
		}
	}
	if (price_text && !parse_price(price_text, &wish->price)) {
		message("--price %s: a number such as 3 or 0.25, for a million tokens", price_text);
		return EXIT_CODE_USAGE;
	}
	if (!days_text)
		return EXIT_CODE_OK;
	int code = event_options_number("--days", days_text, DAYS_MAX, &wish->days);
	uint64_t now = sys_realtime_ns(), span = wish->days * UINT64_C(86400) * 1000000000u;
	gain->since_realtime_ns = now > span ? now - span : 0;
	return code;
}

static double cost_of(const struct wish *wish, uint64_t bytes)
{
	return (double)tokens_of_bytes(bytes) / TOKENS_OF_PRICE * wish->price;
}

/* ---- for programs ---- */

static json_t *json_count(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *json_sums(const struct wish *wish, const struct gain_sums *sums)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "sessions", json_count(sums->sessions));
	(void)json_object_set_new(object, "notices", json_count(sums->notices));
	(void)json_object_set_new(object, "diffs", json_count(sums->diffs));
	(void)json_object_set_new(object, "commands", json_count(sums->commands));
	(void)json_object_set_new(object, "given_again", json_count(sums->given_again));
	(void)json_object_set_new(object, "bytes_saved", json_count(sums->bytes));
	(void)json_object_set_new(object, "tokens_saved_estimate",
				  json_count(tokens_of_bytes(sums->bytes)));
	(void)json_object_set_new(object, "cost",
				  wish->price < 0 ? json_null()
						  : json_real(cost_of(wish, sums->bytes)));
	return object;
}

static json_t *json_unread(const struct gain *gain)
{
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(gain->unread) / sizeof(gain->unread[0]); i++)
		if (gain->unread[i])
			(void)json_object_set_new(object, store_state_name((enum store_state)i),
						  json_count(gain->unread[i]));
	return object;
}

static int print_json(const struct wish *wish, const struct gain *gain)
{
	json_t *document = json_object(), *rows = json_array();

	for (size_t i = 0; i < gain->row_count; i++) {
		json_t *row = json_sums(wish, &gain->rows[i].sums);
		(void)json_object_set_new(row, "name",
					  gain->rows[i].name[0] ? text_json(gain->rows[i].name)
								: json_null());
		(void)json_array_append_new(rows, row);
	}
	(void)json_object_set_new(document, "schema", json_string("seen/gain/1"));
	(void)json_object_set_new(document, "days",
				  wish->days ? json_count(wish->days) : json_null());
	(void)json_object_set_new(document, "by",
				  gain->by ? json_string(BY[gain->by]) : json_null());
	(void)json_object_set_new(document, "price",
				  wish->price < 0 ? json_null() : json_real(wish->price));
	(void)json_object_set_new(document, "first", text_json_time(gain->first_realtime_ns));
	(void)json_object_set_new(document, "total", json_sums(wish, &gain->total));
	(void)json_object_set_new(document, "rows", rows);
	(void)json_object_set_new(document, "by_journal", json_count(gain->of_journals));
	(void)json_object_set_new(document, "incomplete", json_count(gain->incomplete));
	(void)json_object_set_new(document, "not_counted", json_unread(gain));
	return text_json_print(document);
}

/* ---- for people ---- */

static void print_row(struct sheet *sheet, const struct wish *wish, const char *name,
		      const struct gain_sums *sums)
{
	char cost[COST_BYTES];

	sheet_cell_count(sheet, sums->sessions);
	sheet_cell_count(sheet, sums->notices);
	sheet_cell_count(sheet, sums->diffs);
	sheet_cell_count(sheet, sums->commands);
	sheet_cell_count(sheet, sums->bytes);
	sheet_cell_count(sheet, tokens_of_bytes(sums->bytes));
	if (wish->price >= 0) {
		(void)snprintf(cost, sizeof(cost), "%.4f", cost_of(wish, sums->bytes));
		sheet_cell(sheet, cost);
	}
	if (name)
		sheet_cell_name(sheet, name);
	else
		sheet_cell(sheet, "in all");
	sheet_finish(sheet);
}

static void print_table(const struct wish *wish, const struct gain *gain, struct sheet *sheet)
{
	static const char *const TITLES[] = { [GAIN_BY_ALL] = "",
					      [GAIN_BY_AGENT] = "AGENT",
					      [GAIN_BY_PROJECT] = "PROJECT",
					      [GAIN_BY_DAY] = "DAY",
					      [GAIN_BY_PROGRAM] = "PROGRAM" };
	struct sheet_column columns[SHEET_TABLE_COLUMNS] = {
		{ "SESSIONS", 8 }, { "NOTICES", 8 },      { "DIFFS", 6 },
		{ "COMMANDS", 8 }, { "BYTES SAVED", 13 }, { "TOKENS", 11 },
	};
	size_t count = 6;

	if (wish->price >= 0)
		columns[count++] = (struct sheet_column){ "COST", 9 };
	columns[count++] = (struct sheet_column){ TITLES[gain->by], 0 };
	sheet_table(sheet, columns, count);
	for (size_t i = 0; i < gain->row_count; i++)
		print_row(sheet, wish, gain->rows[i].name[0] ? gain->rows[i].name : "(not known)",
			  &gain->rows[i].sums);
	print_row(sheet, wish, NULL, &gain->total);
}

/* What the figures do not hold. */
static void print_unknown(const struct gain *gain, struct sheet *sheet)
{
	char time[TEXT_TIME_BYTES];
	size_t states = sizeof(gain->unread) / sizeof(gain->unread[0]);

	sheet_note(sheet,
		   "the first of these sessions began at %s; what `seen gc` removed is not known",
		   clock_stamp(gain->first_realtime_ns, time));
	sheet_note(sheet, "tokens: an estimate, two for seven bytes; each is counted once, however "
			  "often it would have been sent");
	if (gain->of_journals)
		sheet_note(sheet, "%s counted by the journal, as the segment went with a boot",
			   sheet_number(gain->of_journals));
	if (gain->incomplete)
		sheet_note(sheet,
			   "%s of these lack records, which are damaged or could not be written",
			   sheet_number(gain->incomplete));
	for (size_t i = 0; i < states; i++)
		if (gain->unread[i])
			sheet_note(sheet,
				   "not counted: %s of state `%s` (`seen sessions` lists them)",
				   sheet_number(gain->unread[i]),
				   store_state_name((enum store_state)i));
}

/* ---- the command ---- */

static int show(const struct wish *wish, const struct gain *gain)
{
	struct sheet sheet;

	if (json)
		return print_json(wish, gain);
	if (!gain->total.sessions)
		return 0;
	sheet_init(&sheet, stdout, SHEET_TEXT);
	print_table(wish, gain, &sheet);
	print_unknown(gain, &sheet);
	return 0;
}

static int nothing(const struct gain *gain)
{
	uint64_t unread = gain_unread(gain);

	if (unread)
		message("of %llu session%s nothing can be read: `seen sessions` tells why",
			(unsigned long long)unread, text_plural(unread));
	else if (gain->since_realtime_ns)
		message("no session on disk began in these days");
	else
		message("no sessions yet: begin one with `seen run -- COMMAND`");
	return EXIT_CODE_NOTHING;
}

static int gain(const struct config *config)
{
	struct gain gain = { .by = GAIN_BY_ALL };
	struct config_error config_error = { "" };
	struct store store = { .count = 0 };
	struct wish wish = { .days = 0 };
	int code = parse(&wish, &gain);

	if (code != EXIT_CODE_OK)
		return code;
	int error = store_open(config, &store);
	if (error == 0)
		error = gain_gather(config, &store, &gain, &config_error);
	if (error == 0)
		error = show(&wish, &gain);
	if (error < 0) {
		message("%s", config_error.text[0] ? config_error.text
			      : error == -ENOMEM   ? "out of memory"
						   : strerror(-error));
		code = EXIT_CODE_OUTPUT;
	} else if (!store_is_readable(&store)) {
		code = EXIT_CODE_PARTLY;
	} else if (!gain.total.sessions) {
		code = nothing(&gain);
	}
	gain_free(&gain);
	store_close(&store);
	return code;
}

int cmd_gain(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
	    options_load(&parsed, &code) == 0)
		code = gain(parsed.config);
	options_done(&parsed);
	return code;
}
