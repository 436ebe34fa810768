/* What of an attestation holds: see verify_attestation.h. */
#include "cli/attest/verify_attestation.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attest/attestation.h"
#include "cli/attest/key_file.h"
#include "cli/attest/ssh_signature.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/session/journal_file.h"
#include "cli/session/session.h"
#include "tracker/path/path.h"

enum { ATTESTATION_BYTES_MAX = 1 << 30, NAME_COLUMN = 12 /* behind the result's begin */ };

/* ---- printing ---- */

static void print_item(const struct attested_item *item, void *data)
{
	char name[4 * PATH_MAX] = "";

	(void)data;
	if (item->name)
		(void)path_escape(item->name, name, sizeof(name));
	(void)printf("%-10s %s%s%s", attested_kind_name(item->kind),
		     text_style(stdout, item->result == ATTESTED_HOLDS     ? "32"
					: item->result == ATTESTED_DIFFERS ? "33"
									   : "2"),
		     attested_result_name(item->result), text_style(stdout, "0"));
	if (item->name || item->why)
		(void)printf("%*s%s%s%s",
			     (int)(NAME_COLUMN - strlen(attested_result_name(item->result))), "",
			     name, item->name && item->why ? ": " : "", item->why ? item->why : "");
	(void)puts("");
}

static void collect_item(const struct attested_item *item, void *data)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "kind", json_string(attested_kind_name(item->kind)));
	(void)json_object_set_new(object, "result",
				  json_string(attested_result_name(item->result)));
	(void)json_object_set_new(object, "name", item->name ? text_json(item->name) : json_null());
	(void)json_object_set_new(object, "why", item->why ? text_json(item->why) : json_null());
	(void)json_array_append_new(data, object);
}

static void print_sums(const struct attestation_check *check)
{
	uint64_t differ = check->results[ATTESTED_DIFFERS];

	if (differ)
		(void)printf("%" PRIu64 " differ%s", differ, differ == 1 ? "s" : "");
	else
		(void)printf("all that was checked holds");
	if (check->results[ATTESTED_NOT_CHECKED])
		(void)printf("; %" PRIu64 " not checked", check->results[ATTESTED_NOT_CHECKED]);
	(void)puts("");
}

/* ---- what is at hand ---- */

/* The journal of the session that a statement names, where it is on this machine. */
static bool find_journal(const struct config *config, const char *text, size_t size, char *ret_path)
{
	json_t *statement = attestation_statement(text, size);
	const json_t *predicate = json_object_get(statement, "predicate");
	const char *name = json_string_value(
		json_object_get(json_object_get(predicate, "session"), "name"));
	struct session session;
	bool found = false;

	int error = name && session_name_is_valid(name) ? session_open(config, name, &session)
							: -ENOENT;
	if (error < 0 && !journal_file_outlives(error))
		message("session %s: %s", name, session_explain(error));
	if (error == 0) {
		const char *path = session_journal(&session);
		found = path && snprintf(ret_path, PATH_MAX, "%s", path) < PATH_MAX;
		session_close(&session);
	}
	json_decref(statement);
	return found;
}

/* A directory as an absolute path without symbolic links.  Returns an exit code. */
static int resolve(const char *option, const char *directory, char *ret_path, const char **ret_used)
{
	*ret_used = NULL;
	if (!directory)
		return EXIT_CODE_OK;
	if (!realpath(directory, ret_path)) {
		message("%s %s: %s", option, directory, strerror(errno));
		return EXIT_CODE_USAGE;
	}
	*ret_used = ret_path;
	return EXIT_CODE_OK;
}

/* ---- the whole ---- */

static int print(const struct verify_attestation *request, struct attestation_check *check)
{
	json_t *document = request->json ? json_object() : NULL, *items = json_array();

	check->visit = request->json ? collect_item : print_item;
	check->data = items;
	int error = attestation_check(check);
	if (error < 0) {
		message("%s", strerror(-error));
	} else if (!request->json) {
		print_sums(check);
	} else {
		(void)json_object_set_new(document, "schema",
					  json_string("seen/verify_attestation/1"));
		(void)json_object_set_new(document, "holds",
					  json_boolean(!check->results[ATTESTED_DIFFERS]));
		(void)json_object_set(document, "items", items);
		error = text_json_print(document);
		document = NULL;
	}
	json_decref(items);
	json_decref(document);
	return error < 0                          ? EXIT_CODE_OUTPUT
	       : check->results[ATTESTED_DIFFERS] ? EXIT_CODE_TAMPERED
						  : EXIT_CODE_OK;
}

/* Where the signature is SSH's: inspects it.  Returns an exit code. */
static int check_ssh(const struct verify_attestation *request, const char *ssh_key,
		     const char *text, size_t size)
{
	int error = ssh_signature_verify(ssh_key, request->attestation, text, size);

	if (error == -EKEYREJECTED)
		message("%s.sig is not a signature of that file by this key", request->attestation);
	else if (error < 0)
		message("%s.sig, and ssh-keygen, are needed for an SSH key: %s",
			request->attestation, strerror(-error));
	return error == -EKEYREJECTED ? EXIT_CODE_TAMPERED
	       : error < 0            ? EXIT_CODE_PARTLY
				      : EXIT_CODE_OK;
}

static int verify(const struct config *config, const struct verify_attestation *request,
		  struct attestation_check *check)
{
	static char checkout[PATH_MAX], before[PATH_MAX], journal[PATH_MAX];
	int code = resolve("--checkout", request->checkout, checkout, &check->checkout);

	if (code == EXIT_CODE_OK)
		code = resolve("--before", request->before, before, &check->before);
	if (code == EXIT_CODE_OK && (request->journal || request->session)) {
		code = journal_file_find(config, request->session, request->journal, journal,
					 sizeof(journal));
		check->journal = journal;
	} else if (find_journal(config, check->text, check->size_bytes, journal)) {
		check->journal = journal;
		check->is_found = true;
	}
	return code == EXIT_CODE_OK ? print(request, check) : code;
}

int verify_attestation(const struct config *config, const struct verify_attestation *request)
{
	struct attestation_check check = { .text = NULL };
	struct ed25519_key key;
	char *ssh_key = NULL, *text = NULL;
	int code = key_file_read_public(request->key, &key, &ssh_key);

	if (code == EXIT_CODE_OK)
		code = key_file_read(request->attestation, ATTESTATION_BYTES_MAX, &text,
				     &check.size_bytes);
	if (code == EXIT_CODE_OK && ssh_key)
		code = check_ssh(request, ssh_key, text, check.size_bytes);
	check.text = text;
	check.key = ssh_key ? NULL : &key;
	if (code == EXIT_CODE_OK)
		code = verify(config, request, &check);
	free(text);
	free(ssh_key);
	return code;
}
