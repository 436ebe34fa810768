/*
 * `seen attest`: a signed statement of what a session read and changed, which others verify.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attest/artifacts.h"
#include "cli/attest/ed25519.h"
#include "cli/attest/envelope.h"
#include "cli/attest/key_file.h"
#include "cli/attest/run_facts.h"
#include "cli/attest/ssh_signature.h"
#include "cli/attest/statement.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/report/report.h"
#include "cli/session/journal_file.h"
#include "cli/session/session_command.h"
#include "cli/session/session_life.h"
#include "cli/undo/tree_change.h"
#include "cli/undo/undo_session.h"

static const char *session_name, *key_path, *ssh_key, *output_path;

static const struct option_spec SPECS[] = {
	{ "--key", "FILE", "sign with this Ed25519 key in PEM: a DSSE envelope", NULL, &key_path },
	{ "--output", "FILE", "in place of standard output; replaced when all is written", NULL,
	  &output_path },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--ssh-key", "FILE", "sign the file with this SSH key, too: FILE.sig beside it", NULL,
	  &ssh_key },
};

static const struct options OPTIONS = {
	.usage = "attest [OPTION...] [SESSION]",
	.summary = "Makes a signed in-toto statement of what a session read and changed, what it "
		   "ran, and what was not observed. `seen verify --attestation` verifies it.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

static const struct report_limits LIMITS = { .files = 4 << 20,
					     .file_bytes = 1 << 30,
					     .processes = 65536,
					     .programs = 4096,
					     .conflicts = 4096,
					     .rules = 512,
					     .runs = 1024,
					     .unobserved = 4096,
					     .commands = 16384 };

/* ---- what is stated ---- */

struct facts_of_session {
	struct report report;
	struct run_facts facts;
	struct tree_records records;
	struct tree_changes changes;
	struct artifacts artifacts;
};

static int gather(const struct config *config, const struct undo_session *session,
		  struct facts_of_session *all)
{
	const struct tree_range range = { .list_moved = true };
	struct config_globs state = { .text = NULL };
	int error = config_agents_state(config, &state);

	if (error == 0)
		error = report_gather(session->journal,
				      session->session.segment.header ? &session->session.segment
								      : NULL,
				      &LIMITS, &state, &all->report);
	free(state.text);
	if (error == 0)
		error = run_facts_read(session->journal, &all->facts);
	if (error == 0)
		error = tree_records_read(session->undo, &all->records);
	if (error == 0)
		error = tree_changes_read(&all->records, &range, &all->changes);
	if (error == 0)
		error = artifacts_gather(&all->report, &all->records, &all->changes,
					 &all->artifacts);
	return error;
}

static void release(struct facts_of_session *all)
{
	artifacts_free(&all->artifacts);
	tree_changes_free(&all->changes);
	tree_records_close(&all->records);
	run_facts_free(&all->facts);
	report_free(&all->report);
}

/* Does a run of the session go on?  One that was killed left no record of its end. */
static bool is_running(const struct undo_session *session, const struct report *report)
{
	return session->session.segment.header && report->coverage.runs < report->run_count &&
	       session_life(&session->session.segment) == SESSION_LIVED_IN;
}

/* Where nothing true could be stated: why; NULL: it can. */
static const char *refusal(const struct undo_session *session, const struct report *report)
{
	if (is_running(session, report))
		return "a run of it has not ended: attest it then";
	if (report->verify_error)
		return "its seal, or its journal, cannot be read: `seen verify` says why";
	if (report->verified.verdict == VERIFIED_TAMPERED)
		return "the journal is not what was sealed; `seen verify` says where";
	if (report->verified.verdict == VERIFIED_NO_SEAL)
		return "the journal has no seal: it is made when a run of the session ends";
	if (report->verified.report.not_sealed)
		return "records lie behind the seal, of a run that was killed or of programs that "
		       "outlived "
		       "theirs; another run in the session (`seen run --session`) seals them";
	if (!report->workspace)
		return "its journal does not name a workspace";
	return NULL;
}

/* ---- writing ---- */

static int write_document(const struct ed25519_key *key, char *text, FILE *file)
{
	int error = 0;

	if (!text)
		return -ENOMEM;
	if (key->has_private)
		error = envelope_write(file, key, text, strlen(text));
	else
		(void)fprintf(file, "%s\n", text);
	return error;
}

static int write_all(const struct ed25519_key *key, json_t *statement)
{
	struct output output = { .file = NULL };
	char *text = statement ? text_json_dump(statement, JSON_COMPACT) : NULL;
	int error = output_open(output_path, OUTPUT_REPLACE, &output), code = EXIT_CODE_OK;

	if (error < 0) {
		message("%s: %s", output_path ? output_path : "standard output", strerror(-error));
		free(text);
		return EXIT_CODE_OUTPUT;
	}
	error = write_document(key, text, output.file);
	if (error < 0) {
		message("%s", strerror(-error));
		code = EXIT_CODE_OUTPUT;
	} else if ((error = output_finish(&output)) < 0) {
		code = output_failed(&output, error);
	}
	free(text);
	output_close(&output);
	return code;
}

static int sign_by_ssh(void)
{
	int error = ssh_key ? ssh_signature_make(ssh_key, output_path) : 0;

	if (error == -ENOENT)
		message("--ssh-key needs ssh-keygen (package openssh-client)");
	else if (error < 0)
		message("%s could not be signed with %s", output_path, ssh_key);
	return error < 0 ? EXIT_CODE_PARTLY : EXIT_CODE_OK;
}

/* ---- the command ---- */

static int attest(const struct config *config, const struct undo_session *session,
		  const struct ed25519_key *key)
{
	static struct facts_of_session all; /* large */
	int error = gather(config, session, &all);
	const char *refused = error == 0 ? refusal(session, &all.report) : NULL;
	int code = EXIT_CODE_OK;

	if (error < 0) {
		message("%s: %s", session->directory, journal_file_explain(error));
		code = EXIT_CODE_BAD_SESSION;
	} else if (refused) {
		message("%s: %s", session->name, refused);
		code = all.report.verified.verdict == VERIFIED_TAMPERED ? EXIT_CODE_TAMPERED
									: EXIT_CODE_NOTHING;
	} else {
		json_t *statement = statement_make(&all.report, &all.facts, &all.artifacts);
		code = write_all(key, statement);
		json_decref(statement);
	}
	release(&all);
	return code == EXIT_CODE_OK ? sign_by_ssh() : code;
}

static int run(const struct config *config, const char *name)
{
	struct undo_session session;
	struct ed25519_key key = { .has_private = false };
	int code = key_path ? key_file_read_private(key_path, &key) : EXIT_CODE_OK;

	if (code == EXIT_CODE_OK)
		code = undo_session_find_records(config, name, &session);
	if (code != EXIT_CODE_OK)
		return code;
	code = attest(config, &session, &key);
	explicit_bzero(&key, sizeof(key));
	undo_session_close(&session);
	return code;
}

static const char *refuse(char **words)
{
	if (words[0] && session_name)
		return "SESSION and --session: which one?";
	if (!key_path && !ssh_key)
		return "attest signs: --key FILE (made by `openssl genpkey -algorithm ed25519`), "
		       "or --ssh-key FILE";
	if (output_is_same(output_path, key_path ? key_path : "") ||
	    output_is_same(output_path, ssh_key ? ssh_key : ""))
		return "--output: that is the key";
	if (ssh_key && (!output_path || strcmp(output_path, "-") == 0))
		return "--ssh-key signs a file: --output FILE";
	return NULL;
}

int cmd_attest(int argc, char **argv)
{
	const struct session_command command = { .options = &OPTIONS,
						 .name = &session_name,
						 .words_max = 1,
						 .words_wrong = "attest takes one SESSION",
						 .refuse = refuse };
	struct parsed parsed = { .config = NULL };
	char **words;
	int code;

	if (session_command_parse(&command, argc, argv, &parsed, &words, &code) == 0)
		code = run(parsed.config, words[0] ? words[0] : session_name);
	options_done(&parsed);
	return code;
}
