/*
 * What the forms of export say alike of an event: its name, when it was, in a sentence, and all
 * that they have no field for.
 */
#ifndef SEEN_CLI_EXPORT_EVENT_H
#define SEEN_CLI_EXPORT_EVENT_H

#include "cli/base/json_out.h"
#include "cli/export/export.h"
#include "cli/journal/event_class.h"
#include "cli/journal/event_members.h"
#include "cli/journal/event_words.h"
#include "tracker/content/version.h"

enum {
	EXPORT_ID_BYTES = JOURNAL_NONCE_BYTES + 24,
	EXPORT_TEXT_BYTES = 2 * JOURNAL_TEXT_BYTES_MAX +
			    256, /* of a path and what stands around it */
	EXPORT_HASH_BYTES = 33,
	EXPORT_DIGITS_BYTES = 24,
};

/* export_id(): the name of a record that no other has, of any journal: NONCE-NUMBER.  Returns
 * ret_text, EXPORT_ID_BYTES long. */
const char *export_id(const struct export *export, uint64_t number, char *ret_text);

/* export_time(): when it was.  Of a record that does not tell, the time of the one before; of the
 * first, that of the journal.
 * last: 0 at first; kept between the calls. */
uint64_t export_time(const struct export *export, const struct event *event, uint64_t *last);

/* export_program(): name of an event's program, without its directory; NULL: not known. */
const char *export_program(const struct event *event);

/* export_name(): what an event is about, for a person: a path, absolute if it is known, else as
 * given; a program; NULL: nothing. */
const char *export_name(const struct event *event);

/* export_path(): of the file, absolute if it is known, else as given; NULL: there is none. */
static inline const char *export_path(const struct event *event)
{
	return event->resolved ? event->resolved : event->path;
}

/* export_digits(): a number as text.  Returns ret_digits, EXPORT_DIGITS_BYTES long. */
const char *export_digits(uint64_t number, char *ret_digits);

/* export_message(): OP NAME: ERROR.  Bytes of others as they are.  Returns ret_text,
 * EXPORT_TEXT_BYTES long. */
const char *export_message(const struct event *event, char *ret_text);

/* export_base(): a path's last name; "/" for the root.  export_extension(): what follows the last
 * dot of it; NULL: none.
 * export_folder(): what stands before it; NULL: there is nothing.  Returns ret_text,
 * EXPORT_TEXT_BYTES long. */
const char *export_base(const char *path);
const char *export_extension(const char *path);
const char *export_directory(const char *path, char *ret_text);

/* export_arguments(): arguments with spaces between.  NULL: not known.  Returns ret_text,
 * EXPORT_TEXT_BYTES long. */
const char *export_arguments(const struct event *event, char *ret_text);

/* export_hash(): all digits of a version, XXH3-128 as XXH128_canonicalFromHash().  Returns
 * ret_text. */
const char *export_hash(const struct version *version, char *ret_text);

/* export_rest(): reports, in the words of seen/log/1, the members of an event beside number, time,
 * error, executable and ids of process and thread.  members: with all its functions; what is not
 * known is reported as null, which is to be left out. */
void export_rest(const struct event *event, struct event_members *members);

/* export_rest_object(): the same as one object. */
void export_rest_object(struct json_out *out, const char *name, const struct event *event);

#endif
