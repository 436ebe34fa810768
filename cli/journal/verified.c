/* Is a journal what was sealed: see verified.h. */
#include "cli/journal/verified.h"

#include <errno.h>

#include "tracker/journal/journal_map.h"

const char *verified_name(enum verified_verdict verdict)
{
	static const char *const NAMES[] = { [VERIFIED_INTACT] = "intact",
					     [VERIFIED_TAMPERED] = "tampered",
					     [VERIFIED_NO_SEAL] = "no_seal" };
	return NAMES[verdict];
}

/* Errors that say that a file is not what it was, and not only that it cannot be inspected. */
static bool is_evidence(int error)
{
	return error == -EBADMSG || error == -ENOENT;
}

int verified_compare(struct verified *verified, const char *digest, const char **ret_path)
{
	struct journal journal;

	verified->seal_error = seal_read(verified->seal_path, &verified->seal);
	if (verified->seal_error < 0 && !is_evidence(verified->seal_error)) {
		*ret_path = verified->seal_path;
		return verified->seal_error;
	}
	if (verified->seal_error < 0) {
		/* Before its first run ends, a session has none; with a digest in hand, that cannot
		 * be. */
		int error = journal_map_to_read(verified->journal_path, &journal);
		*ret_path = verified->journal_path;
		if (error < 0)
			return error;
		journal_unmap(&journal);
		verified->verdict = digest || verified->seal_error != -ENOENT ? VERIFIED_TAMPERED
									      : VERIFIED_NO_SEAL;
		return 0;
	}
	verified->verdict = VERIFIED_TAMPERED;
	verified->journal_error = journal_map_to_read(verified->journal_path, &journal);
	if (verified->journal_error < 0) {
		*ret_path = verified->journal_path;
		return is_evidence(verified->journal_error) ? 0 : verified->journal_error;
	}
	seal_check(&verified->seal, &journal, digest, &verified->report);
	if (seal_is_intact(&verified->seal, &verified->report))
		verified->verdict = VERIFIED_INTACT;
	journal_unmap(&journal);
	return 0;
}

void verified_destroy(struct verified *verified)
{
	seal_destroy(&verified->seal);
}
