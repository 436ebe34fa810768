/* undo_running.h: an undo waits for what begins in the session, and for nothing else. */
#include <criterion/criterion.h>

#include <signal.h>
#include <time.h>

#include "cli/undo/undo_running.h"
#include "journal_file.h"

static struct world world;
static struct undo_session session;
static pid_t child;
static int pauses;

/* In the place of libc's: while it pauses, the child ends. */
int nanosleep(const struct timespec *pause, struct timespec *ret_left)
{
	(void)pause;
	(void)ret_left;
	if (pauses++ == 0 && child > 0) {
		(void)kill(child, SIGKILL);
		must(waitpid(child, NULL, 0) == child);
	}
	return 0;
}

static void init(void)
{
	journal_file_open("test");
	world_open(&world, NULL);
	memset(&session, 0, sizeof(session));
	(void)snprintf(session.journal, sizeof(session.journal), "%s", path);
	session.session.segment = world.segment;
	(void)snprintf(session.session.directory, sizeof(session.session.directory), "%s",
		       world.root);
	must(undo_session_read_again(&session) == 0);
	pauses = 0;
	child = 0;
}

static void finish(void)
{
	steps_free(&session.steps);
	world_close(&world);
	journal_file_close();
}

TestSuite(undo_running, .init = init, .fini = finish);

/* A program with a variable that names a session. */
static void start_child(const char *name)
{
	char variable[256];
	int ends[2];

	(void)snprintf(variable, sizeof(variable), "SEEN_SESSION=%s", name);
	must(pipe(ends) == 0);
	child = fork();
	must(child >= 0);
	if (child == 0) {
		char *const environment[] = { variable, NULL };
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execle("/bin/sh", "sh", "-c", "echo; exec sleep 100", NULL, environment);
		_exit(127);
	}
	char byte;
	must(read(ends[0], &byte, 1) == 1 && close(ends[0]) == 0 && close(ends[1]) == 0);
	must(undo_session_read_again(&session) == 0); /* it began a moment ago */
}

Test(undo_running, what_is_of_no_session_is_not_waited_for)
{
	const struct step *step = NULL;

	start_child("/elsewhere");
	cr_assert_eq(undo_running(&session, &step), 0);
	cr_assert_null(step);
	cr_assert_eq(pauses, 0);
	(void)kill(child, SIGKILL);
	must(waitpid(child, NULL, 0) == child);
}

Test(undo_running, what_begins_in_the_session_is_waited_for)
{
	const struct step *step = NULL;

	start_child(world.root);
	cr_assert_eq(undo_running(&session, &step), 0);
	cr_assert_null(step);
	cr_assert_geq(pauses, 1);
}
