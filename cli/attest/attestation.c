/* Does an attestation hold: see attestation.h. */
#include "cli/attest/attestation.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attest/artifacts.h"
#include "cli/attest/envelope.h"
#include "cli/attest/file_digest.h"
#include "cli/attest/statement.h"
#include "cli/base/text.h"
#include "cli/journal/seal_digest.h"
#include "cli/journal/verified.h"

enum { WHY_BYTES = 256 };

const char *attested_kind_name(enum attested_kind kind)
{
	static const char *const NAMES[] = { "signature", "statement", "journal",
					     "material",  "product",   "removed" };
	return NAMES[kind];
}

const char *attested_result_name(enum attested_result result)
{
	static const char *const NAMES[] = { "holds", "differs", "not checked" };
	return NAMES[result];
}

__attribute__((format(printf, 5, 6))) static void add(struct attestation_check *check,
						      enum attested_kind kind, const char *name,
						      enum attested_result result,
						      const char *format, ...)
{
	char why[WHY_BYTES];
	struct attested_item item = { .kind = kind, .result = result, .name = name };
	va_list arguments;

	if (format) {
		va_start(arguments, format);
		(void)vsnprintf(why, sizeof(why), format, arguments);
		va_end(arguments);
		item.why = why;
	}
	check->results[result]++;
	if (check->visit)
		check->visit(&item, check->data);
}

/* ---- signature and statement ---- */

static bool check_signature(struct attestation_check *check, const struct envelope *envelope)
{
	switch (envelope_verify(envelope, check->key)) {
	case 0:
		add(check, ATTESTED_SIGNATURE, NULL, ATTESTED_HOLDS, "by the key %s",
		    check->key->id);
		return true;
	case -ENOKEY:
		add(check, ATTESTED_SIGNATURE, NULL, ATTESTED_DIFFERS, "it is by another key, %s",
		    envelope->key_id);
		return false;
	case -ENOMEM:
		(void)text_json_lacks();
		return false;
	default:
		add(check, ATTESTED_SIGNATURE, NULL, ATTESTED_DIFFERS,
		    "it is not this key's signature of this statement");
		return false;
	}
}

static json_t *parse(const char *text, size_t size_bytes)
{
	return json_loadb(text, size_bytes, JSON_REJECT_DUPLICATES, NULL);
}

json_t *attestation_statement(const char *text, size_t size_bytes)
{
	struct envelope envelope;
	size_t at;

	if (envelope_parse(text, size_bytes, &envelope, &at) < 0)
		return parse(text, size_bytes);
	json_t *statement = parse(envelope.payload, envelope.payload_bytes);
	envelope_free(&envelope);
	return statement;
}

/* The statement, once its signature holds; NULL: it does not. */
static json_t *signed_statement(struct attestation_check *check)
{
	struct envelope envelope;
	size_t at = 0;

	if (!check->key) {
		add(check, ATTESTED_SIGNATURE, NULL, ATTESTED_HOLDS,
		    "of the whole file, by ssh-keygen");
		return attestation_statement(check->text, check->size_bytes);
	}
	int error = envelope_parse(check->text, check->size_bytes, &envelope, &at);
	if (error == -ENOMEM)
		return text_json_lacks();
	if (error < 0) {
		add(check, ATTESTED_SIGNATURE, NULL, ATTESTED_DIFFERS,
		    "the file is no envelope as `seen attest` writes it, from byte %zu on", at);
		return NULL;
	}
	json_t *statement = check_signature(check, &envelope)
				    ? parse(envelope.payload, envelope.payload_bytes)
				    : NULL;
	envelope_free(&envelope);
	return statement;
}

static bool is_text(const json_t *object, const char *name, const char *wanted)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && strcmp(text, wanted) == 0;
}

/* Are all items of an array descriptors of files, behind the first `from` of them? */
static bool are_files(const json_t *array, size_t from)
{
	for (size_t i = from; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);
		if (!json_is_string(json_object_get(item, "name")) ||
		    !json_is_string(json_object_get(json_object_get(item, "digest"), "sha256")))
			return false;
	}
	return json_is_array(array);
}

static bool are_names(const json_t *array)
{
	for (size_t i = 0; i < json_array_size(array); i++)
		if (!json_is_string(json_array_get(array, i)))
			return false;
	return json_is_array(array);
}

/* The digest of the journal that a statement names; NULL: it is none of ours. */
static const char *seal_of(const json_t *statement)
{
	static const char DIGITS[] = "0123456789abcdef";
	const json_t *subjects = json_object_get(statement, "subject");
	const json_t *subject = json_array_get(subjects, 0);
	const json_t *predicate = json_object_get(statement, "predicate");
	const char *seal = json_string_value(
		json_object_get(json_object_get(subject, "digest"), STATEMENT_SEAL));

	return is_text(statement, "_type", STATEMENT_TYPE) &&
			       is_text(statement, "predicateType", STATEMENT_PREDICATE) &&
			       is_text(subject, "name", STATEMENT_JOURNAL) && seal &&
			       seal_is_digest(seal) && strspn(seal, DIGITS) == strlen(seal) &&
			       are_files(subjects, 1) &&
			       are_files(json_object_get(predicate, "materials"), 0) &&
			       are_names(json_object_get(predicate, "removed")) &&
			       json_is_boolean(json_object_get(predicate, "complete"))
		       ? seal
		       : NULL;
}

/* ---- the journal ---- */

static void journal_differs(struct attestation_check *check, const struct verified *verified)
{
	const struct seal_report *report = &verified->report;
	const struct seal_block *blocks = verified->seal.blocks;
	char why[WHY_BYTES];

	if (verified->seal_error || verified->seal.bad_line)
		(void)snprintf(why, sizeof(why), "its seal is %s",
			       verified->seal_error == -ENOENT ? "not there" : "damaged");
	else if (verified->journal_error)
		(void)snprintf(why, sizeof(why), "it is %s",
			       verified->journal_error == -ENOENT ? "not there" : "no journal");
	else if (report->other_journal)
		(void)snprintf(why, sizeof(why), "its seal is another journal's");
	else if (report->head_changed)
		(void)snprintf(why, sizeof(why), "its header is not what was sealed");
	else if (report->bad_blocks)
		(void)snprintf(why, sizeof(why),
			       "block %zu, records %" PRIu64 " to %" PRIu64
			       ", is not what was sealed",
			       report->first_bad + 1, blocks[report->first_bad].from,
			       blocks[report->first_bad].to - 1);
	else if (report->wanted == SEAL_WANTED_MISSING)
		(void)snprintf(why, sizeof(why), "the digest attested is not in its seal");
	else
		(void)snprintf(why, sizeof(why), "records were dropped from its end");
	add(check, ATTESTED_JOURNAL, NULL, ATTESTED_DIFFERS, "%s", why);
}

static void check_journal(struct attestation_check *check, const char *seal)
{
	struct verified verified = { .seal_error = 0 };
	const char *path;

	if (!check->journal) {
		add(check, ATTESTED_JOURNAL, NULL, ATTESTED_NOT_CHECKED,
		    "it is not at hand: --journal FILE");
		return;
	}
	(void)snprintf(verified.journal_path, sizeof(verified.journal_path), "%s", check->journal);
	int error = seal_path(verified.journal_path, verified.seal_path,
			      sizeof(verified.seal_path));
	if (error == 0)
		error = verified_compare(&verified, seal, &path);
	if (error < 0)
		add(check, ATTESTED_JOURNAL, NULL, ATTESTED_DIFFERS, "it cannot be read: %s",
		    strerror(-error));
	else if (check->is_found &&
		 (verified.report.other_journal || verified.report.wanted != SEAL_WANTED_LAST) &&
		 verified.report.wanted != SEAL_WANTED_EARLIER)
		add(check, ATTESTED_JOURNAL, NULL, ATTESTED_NOT_CHECKED,
		    "the session of that name here is another one: --journal FILE");
	else if (verified.verdict != VERIFIED_INTACT)
		journal_differs(check, &verified);
	else
		add(check, ATTESTED_JOURNAL, NULL, ATTESTED_HOLDS, "%" PRIu64 " records",
		    verified.report.records);
	verified_destroy(&verified);
}

/* ---- files ---- */

struct files {
	struct attestation_check *check;
	struct places places;
	json_t *changed; /* names of products and removed files, as members */
};

/* The name as bytes and its path below a directory.  Owned name; NULL: it is none, which is reported. */
static char *locate(struct files *files, enum attested_kind kind, const json_t *text,
		    const char *directory, char *ret_path)
{
	const char *word = json_string_value(text);
	char *name = word ? statement_name_bytes(word) : NULL;

	if (name && artifact_path(directory, name, ret_path, PATH_MAX))
		return name;
	add(files->check, kind, word, ATTESTED_DIFFERS,
	    "it is no name of a file below a directory");
	free(name);
	return NULL;
}

static const char *explain(int error)
{
	return error == -ENOENT        ? "it is not there"
	       : error == -EMEDIUMTYPE ? "it is no regular file"
	       : error == -ELOOP       ? "a symbolic link leads to it"
				       : strerror(-error);
}

static void check_file(struct files *files, enum attested_kind kind, const json_t *descriptor,
		       const char *directory)
{
	const char *wanted = json_string_value(
		json_object_get(json_object_get(descriptor, "digest"), "sha256"));
	bool is_link = json_is_true(
		json_object_get(json_object_get(descriptor, "annotations"), "symlink"));
	char path[PATH_MAX], digest[FILE_DIGEST_BYTES];
	struct stat stat;
	char *name = locate(files, kind, json_object_get(descriptor, "name"), directory, path);

	if (!name)
		return;
	int error = file_digest_at(&files->places, path, digest, &stat);
	if (error < 0)
		add(files->check, kind, name, ATTESTED_DIFFERS, "%s", explain(error));
	else if (!!S_ISLNK(stat.st_mode) != is_link)
		add(files->check, kind, name, ATTESTED_DIFFERS, "it is %s symbolic link",
		    is_link ? "no" : "a");
	else if (!wanted || strcmp(wanted, digest) != 0)
		add(files->check, kind, name, ATTESTED_DIFFERS, "it has another content");
	else
		add(files->check, kind, name, ATTESTED_HOLDS, NULL);
	free(name);
}

static void check_material(struct files *files, const json_t *descriptor)
{
	const char *word = json_string_value(json_object_get(descriptor, "name"));
	const char *directory = files->check->before ? files->check->before
						     : files->check->checkout;

	if (files->check->before || !word || !json_object_get(files->changed, word)) {
		check_file(files, ATTESTED_MATERIAL, descriptor, directory);
		return;
	}
	char *name = statement_name_bytes(word);
	add(files->check, ATTESTED_MATERIAL, name ? name : word, ATTESTED_NOT_CHECKED,
	    "the session changed it: --before DIR");
	free(name);
}

static void check_removed(struct files *files, const json_t *text)
{
	char path[PATH_MAX], digest[FILE_DIGEST_BYTES];
	struct stat stat;
	char *name = locate(files, ATTESTED_REMOVED, text, files->check->checkout, path);

	if (!name)
		return;
	int error = file_digest_at(&files->places, path, digest, &stat);
	/* A directory may have taken its place. */
	if (error == -ENOENT || (error == -EMEDIUMTYPE && S_ISDIR(stat.st_mode)))
		add(files->check, ATTESTED_REMOVED, name, ATTESTED_HOLDS, NULL);
	else
		add(files->check, ATTESTED_REMOVED, name, ATTESTED_DIFFERS, "%s",
		    error < 0 && error != -EMEDIUMTYPE ? explain(error) : "it is there");
	free(name);
}

/* Without a directory to compare with: one item for all. */
static void skip(struct attestation_check *check, enum attested_kind kind, size_t count)
{
	if (count)
		add(check, kind, NULL, ATTESTED_NOT_CHECKED, "%zu of them: --checkout DIR", count);
}

/* not_known: also what became of a file that is a product. */
static void note_changed(struct files *files, const json_t *products, const json_t *removed,
			 const json_t *not_known)
{
	size_t i;
	json_t *item;

	json_array_foreach(products, i, item)
	{
		const char *word = json_string_value(json_object_get(item, "name"));
		if (word)
			(void)json_object_set_new(files->changed, word, json_true());
	}
	json_array_foreach(not_known, i, item)
	{
		const char *word = json_string_value(json_object_get(item, "name"));
		if (word && is_text(item, "what", "product"))
			(void)json_object_set_new(files->changed, word, json_true());
	}
	json_array_foreach(removed, i, item)
	{
		if (json_is_string(item))
			(void)json_object_set_new(files->changed, json_string_value(item),
						  json_true());
	}
}

static int check_files(struct attestation_check *check, const json_t *statement)
{
	const json_t *products = json_object_get(statement, "subject");
	const json_t *predicate = json_object_get(statement, "predicate");
	const json_t *materials = json_object_get(predicate, "materials");
	const json_t *removed = json_object_get(predicate, "removed");
	struct files files = { .check = check, .changed = json_object() };
	int error = places_open(&files.places);
	size_t i;
	json_t *item;

	if (error < 0 || !files.changed) {
		json_decref(files.changed);
		return error < 0 ? error : -ENOMEM;
	}
	note_changed(&files, products, removed, json_object_get(predicate, "not_known"));
	if (check->before || check->checkout) {
		json_array_foreach(materials, i, item)
		{
			check_material(&files, item);
		}
	} else {
		skip(check, ATTESTED_MATERIAL, json_array_size(materials));
	}
	if (check->checkout) {
		json_array_foreach(products, i, item)
		{
			if (i > 0) /* else the journal */
				check_file(&files, ATTESTED_PRODUCT, item, check->checkout);
		}
		json_array_foreach(removed, i, item)
		{
			check_removed(&files, item);
		}
	} else {
		skip(check, ATTESTED_PRODUCT, json_array_size(products) - 1);
		skip(check, ATTESTED_REMOVED, json_array_size(removed));
	}
	places_close(&files.places);
	json_decref(files.changed);
	return 0;
}

int attestation_check(struct attestation_check *check)
{
	int error = 0;

	memset(check->results, 0, sizeof(check->results));
	json_t *statement = signed_statement(check);
	const char *seal = seal_of(statement);
	if (check->results[ATTESTED_DIFFERS] || !text_json_is_whole())
		; /* nothing else is believed */
	else if (!seal) {
		add(check, ATTESTED_STATEMENT, NULL, ATTESTED_DIFFERS,
		    "it is no statement of the form " STATEMENT_PREDICATE);
	} else {
		add(check, ATTESTED_STATEMENT, NULL, ATTESTED_HOLDS, NULL);
		check_journal(check, seal);
		error = check_files(check, statement);
	}
	json_decref(statement);
	/* What lacked memory proves nothing. */
	return error == 0 && !text_json_is_whole() ? -ENOMEM : error;
}
