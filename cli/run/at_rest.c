/* The end of a session that a run had: see at_rest.h. */
#include "cli/run/at_rest.h"

#include <signal.h>
#include <stdio.h>

#include "cli/journal/seal.h"
#include "cli/run/aside.h"
#include "cli/run/metadata.h"
#include "cli/session/session_cut.h"

void at_rest_note(struct at_rest *rest, const struct session *session)
{
	const char *journal = session_journal(session);

	rest->made = session->made;
	(void)snprintf(rest->directory, sizeof(rest->directory), "%s", session->directory);
	(void)snprintf(rest->journal, sizeof(rest->journal), "%s", journal ? journal : "");
}

/* patience_ms: see session_cut(). */
static void finish(const struct at_rest *rest, unsigned patience_ms)
{
	if (rest->syncs && rest->journal[0])
		(void)seal_sync(rest->journal);
	if (rest->syncs)
		metadata_sync();
	if (rest->made)
		(void)session_cut(rest->directory, patience_ms);
}

static void stay(void *data)
{
	(void)data;
}

static void finish_aside(void *data)
{
	/* a helper of the run may be about to end, or a reader */
	enum { PATIENCE_MS = 3000 };
	finish(data, PATIENCE_MS);
}

void at_rest_start(struct at_rest *rest, bool leaves)
{
	(void)signal(SIGIO, SIG_IGN); /* session_cut.h */
	/* Of one that is used again and again all but the packs is cut when it rests (tidy.h). */
	if (!rest->made)
		session_cut_packs(rest->directory);
	if ((rest->made || rest->syncs) && leaves && aside(stay, finish_aside, rest))
		return;
	finish(rest, 0);
}
