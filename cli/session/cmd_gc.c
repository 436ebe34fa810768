/*
 * `seen gc`: removes sessions that no process uses.  So does the end of a run (tidy.h), which
 * inspects them once in a while.
 *
 * Which: those named; or with --all, every one; or those last used longer ago than [session]
 * keep_days, and then the oldest until the rest takes no more than [session] max_bytes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/expiry.h"
#include "cli/session/store.h"
#include "cli/session/store_conversations.h"
#include "cli/session/store_remove.h"
#include "config/value.h"
#include "tracker/sys/sys.h"

static bool dry_run, all, json;

static const struct option_spec SPECS[] = {
	{ "--dry-run", NULL, "report what would be removed, and remove nothing", &dry_run, NULL },
	{ "--all", NULL, "every session that is not in use", &all, NULL },
	{ "--json", NULL, "a JSON document, seen/gc/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "gc [OPTION...] [NAME...]",
	.summary = "Removes sessions that were last used longer ago than --keep-days. Then it "
		   "removes the oldest until all together take no more than --max-bytes. NAME: "
		   "these sessions, whatever their age. A session in use stays.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

struct collection {
	const struct store *store;
	uint64_t now_realtime_ns;
	unsigned count;
	uint64_t removed_bytes, left_bytes;
	json_t *removed; /* for programs */
	int code;
};

/* ---- what was removed ---- */

/* What it was when it was removed: it may have been in use when it was listed. */
static const char *state_of(const struct store_session *session)
{
	return store_state_name(session->state == STORE_LIVE ? STORE_ENDED : session->state);
}

static void report(struct collection *collection, const struct store_session *session,
		   const char *reason)
{
	char bytes[TEXT_NUMBER_BYTES], age[STORE_AGE_BYTES];

	if (json) {
		json_t *object = json_object();
		(void)json_object_set_new(object, "name", text_json(session->name));
		(void)json_object_set_new(object, "reason", json_string(reason));
		(void)json_object_set_new(object, "state", json_string(state_of(session)));
		(void)json_object_set_new(object, "bytes",
					  json_integer((json_int_t)session->size_bytes));
		(void)json_object_set_new(object, "last_used",
					  text_json_time(session->used_realtime_ns));
		(void)json_array_append_new(collection->removed, object);
		return;
	}
	(void)printf("%s %-24s  %13s bytes, %s, used %s ago\n",
		     dry_run ? "would remove" : "removed", session->name,
		     text_number(session->size_bytes, bytes), state_of(session),
		     store_age(session->used_realtime_ns, collection->now_realtime_ns, age));
}

static void report_total(struct collection *collection)
{
	char removed[TEXT_NUMBER_BYTES], left[TEXT_NUMBER_BYTES];

	if (!json) {
		(void)printf("%s %u session%s, %s bytes; %s bytes are left\n",
			     dry_run ? "would remove" : "removed", collection->count,
			     collection->count == 1 ? "" : "s",
			     text_number(collection->removed_bytes, removed),
			     text_number(collection->left_bytes, left));
		return;
	}
	json_t *document = json_object();
	(void)json_object_set_new(document, "schema", json_string("seen/gc/1"));
	(void)json_object_set_new(document, "dry_run", json_boolean(dry_run));
	(void)json_object_set_new(document, "bytes_removed",
				  json_integer((json_int_t)collection->removed_bytes));
	(void)json_object_set_new(document, "bytes_left",
				  json_integer((json_int_t)collection->left_bytes));
	(void)json_object_set_new(document, "sessions", collection->removed);
	if (text_json_print(document) < 0) {
		message("out of memory");
		collection->code = EXIT_CODE_OUTPUT;
	}
}

static void complain(struct collection *collection, const struct store_trouble *trouble, int error)
{
	if (error == -EEXIST)
		message("%s: '%s' in it is no file of a session of yours: all was left; inspect "
			"that, and move it elsewhere",
			trouble->path, trouble->stranger);
	else if (error == -EACCES || error == -EROFS)
		message("%s: cannot be removed: %s; make its directory writable (`chmod u+w`, or "
			"mount "
			"it so)",
			trouble->path, strerror(-error));
	else
		message("%s: was left: %s", trouble->path, session_explain(error));
	collection->code = EXIT_CODE_PARTLY;
}

/* ---- removing ---- */

/* Removes one session.  Returns 0 when it is gone, by us or another; -EBUSY; another error, which
 * was reported. */
static int collect(struct collection *collection, const struct store_session *session,
		   const char *reason)
{
	struct store_trouble trouble;
	int error = store_remove(collection->store, session, dry_run, &trouble);

	if (error == -EBUSY)
		return error;
	if (error < 0 && error != -ENOENT) {
		complain(collection, &trouble, error);
		return error;
	}
	collection->left_bytes -= session->size_bytes;
	if (error == -ENOENT)
		return 0;
	collection->removed_bytes += session->size_bytes;
	collection->count++;
	report(collection, session, reason);
	return 0;
}

static void collect_named(struct collection *collection, char **names)
{
	for (; *names; names++) {
		const struct store_session *session = store_find(collection->store, *names);
		if (!session) {
			message("session %s: %s", *names, session_explain(-ENOENT));
			if (collection->code == EXIT_CODE_OK)
				collection->code = EXIT_CODE_NO_SESSION;
		} else if (collect(collection, session, "named") == -EBUSY) {
			message("session %s: it is in use, and was left", *names);
			collection->code = EXIT_CODE_PARTLY;
		}
	}
}

static bool collect_expired(const struct store_session *session, enum expiry_reason reason,
			    void *data)
{
	return collect(data, session, reason == EXPIRY_AGE ? "age" : "size") == 0;
}

static void collect_old(struct collection *collection, uint64_t keep_days, uint64_t max_bytes)
{
	const struct store *store = collection->store;
	const struct expiry expiry = { .now_realtime_ns = collection->now_realtime_ns,
				       .keep_days = keep_days,
				       .max_bytes = max_bytes,
				       .remove = collect_expired,
				       .data = collection };

	for (size_t i = store->count; all && i-- > 0;)
		if (store->sessions[i].state != STORE_OTHER_USER)
			(void)collect(collection, &store->sessions[i], "all");
	if (!all)
		expiry_apply(store, &expiry);
	if (!all && max_bytes && collection->left_bytes > max_bytes)
		message("more than --max-bytes is left: sessions that are in use, or could not be "
			"removed");
}

/* A conversation may be resumed long after its session: its record goes by its own age. */
static void collect_conversations(struct collection *collection, uint64_t keep_days)
{
	const uint64_t age_ns = keep_days * UINT64_C(86400) * 1000000000u;
	char text[TEXT_NUMBER_BYTES];
	uint64_t bytes = 0;
	unsigned count = 0;

	if (!all && (!keep_days || age_ns >= collection->now_realtime_ns))
		return;
	int error = store_conversations_remove(collection->store,
					       all ? 0 : collection->now_realtime_ns - age_ns,
					       dry_run, &count, &bytes);
	if (error < 0) {
		message("records of conversations were left: %s", strerror(-error));
		collection->code = EXIT_CODE_PARTLY;
	}
	if (count && !json)
		(void)printf("%s %u record%s of conversations  %13s bytes\n",
			     dry_run ? "would remove" : "removed", count, count == 1 ? "" : "s",
			     text_number(bytes, text));
}

static int gc(const struct config *config, char **names)
{
	struct store store;
	struct store_trouble trouble;
	struct collection collection = { .store = &store, .now_realtime_ns = sys_realtime_ns() };
	int error = store_open(config, &store);

	if (error < 0) {
		message("%s", error == -ENOMEM ? "out of memory" : strerror(-error));
		store_close(&store);
		return EXIT_CODE_OUTPUT;
	}
	(void)signal(SIGIO, SIG_IGN); /* see store_remove() */
	if (json)
		collection.removed = json_array();
	collection.left_bytes = expiry_bytes(&store);
	if (!store_is_readable(&store))
		collection.code = EXIT_CODE_PARTLY;
	error = dry_run ? 0 : store_clean(&store, &trouble);
	if (error < 0)
		complain(&collection, &trouble, error);
	if (*names)
		collect_named(&collection, names);
	else
		collect_old(&collection, config_number(config, OPTION_session_keep_days),
			    config_number(config, OPTION_session_max_bytes));
	if (!*names)
		collect_conversations(&collection, config_number(config, OPTION_session_keep_days));
	if (!dry_run)
		store_cut(&store);
	for (int place = 0; !dry_run && all && place < STORE_PLACES; place++)
		if (store.directories[place].fd >= 0)
			(void)unlinkat(store.directories[place].fd, STORE_STAMP, 0);
	report_total(&collection);
	store_close(&store);
	return collection.code;
}

/* Names that are none would be taken for paths by others. */
static int check_names(char **names)
{
	for (; *names; names++)
		if (!session_name_is_valid(*names)) {
			message("%s: %s", *names, session_explain(-EINVAL));
			return EXIT_CODE_USAGE;
		}
	return EXIT_CODE_OK;
}

int cmd_gc(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (all && parsed.first_word < argc) {
		message("--all takes no names");
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = check_names(argv + parsed.first_word);
		if (code == EXIT_CODE_OK)
			code = gc(parsed.config, argv + parsed.first_word);
	}
	options_done(&parsed);
	return code;
}
