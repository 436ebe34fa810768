/* A player that makes calls below a supervisor: what the tests of the supervisor share. */
#ifndef SEEN_TESTS_SUPERVISE_CASE_H
#define SEEN_TESTS_SUPERVISE_CASE_H

#include <criterion/criterion.h>
#include <linux/openat2.h>
#include <sys/prctl.h>

#include "player.h"
#include "shim/supervise/supervisor.h"

enum { NAP_MS = 600, SIZE_BYTES = 3000 };

/* All that was asked since ask_for(), under the lock. */
static struct asked {
	pthread_mutex_t lock;
	int error;  /* answered */
	int nap_ms; /* before that, where `napping` is in the name */
	unsigned count;
	struct supervise_change last;
	char path[SEGMENT_PATH_BYTES];
	char first_path[SEGMENT_PATH_BYTES];
} asked = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline int changing(void *data, const struct supervise_change *change)
{
	must(data == &asked);
	(void)pthread_mutex_lock(&asked.lock);
	if (asked.count++ == 0)
		(void)snprintf(asked.first_path, sizeof(asked.first_path), "%s", change->path);
	asked.last = *change;
	(void)snprintf(asked.path, sizeof(asked.path), "%s", change->path);
	int error = asked.error;
	int nap_ms = strstr(change->path, "napping") ? asked.nap_ms : 0;
	(void)pthread_mutex_unlock(&asked.lock);
	(void)usleep((unsigned)nap_ms * 1000);
	return error;
}

static inline void ask_for(int error)
{
	(void)pthread_mutex_lock(&asked.lock);
	asked.error = error;
	asked.nap_ms = NAP_MS;
	asked.count = 0;
	asked.path[0] = asked.first_path[0] = '\0';
	memset(&asked.last, 0, sizeof(asked.last));
	(void)pthread_mutex_unlock(&asked.lock);
}

static struct supervision supervision;

static struct supervisor *supervisor;

static struct stat before; /* of w/f */

static inline void start_player(void)
{
	struct supervise_root root;
	int listener, go;

	launch_player(&root, &listener, &go);
	supervision = (struct supervision){
		.segment = &world.segment,
		.changing = changing,
		.data = &asked,
	};
	must(supervise_start(listener, &root, &supervision, &supervisor) == 0);
	must(write(go, "", 1) == 1 && close(go) == 0);
	for (int i = 0; i < SEATS; i++)
		must(wait_done(i, WAIT_MS));
}

static inline void fill(void)
{
	world_fill(&world, "f", SIZE_BYTES, 1);
	world_fill(&world, "g", SIZE_BYTES, 2);
	must(stat(world_path(&world, "f"), &before) == 0);
}

static inline void start(void)
{
	world_open(&world, NULL);
	make_board();
	fill();
	must(mkdir(world_path(&world, "d"), 0700) == 0);
	world_fill(&world, "d/f", SIZE_BYTES, 3);
	must(symlink("f", world_path(&world, "to_f")) == 0);
	must(symlink("missing", world_path(&world, "to_nothing")) == 0);
	start_player();
	ask_for(0);
}

static inline void stop(void)
{
	for (int i = PROCESSES - 1; i >= 0; i--)
		if (board->seats[i].pid)
			(void)kill(board->seats[i].pid, SIGKILL);
	struct pollfd all = { supervise_descriptor(supervisor), POLLIN, 0 };
	while (poll(&all, 1, WAIT_MS) == 1 && supervise_tend(supervisor))
		;
	world_close(&world);
}

/* Has the file the bytes that world_fill() wrote, and is it the same one? */
static inline bool is_as_before(const char *name, unsigned seed)
{
	static const char AS_IT_WAS[] = "as-it-was";
	static char now[SIZE_BYTES + 1], then[SIZE_BYTES];
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t got = read(fd, now, sizeof(now));
	(void)close(fd);
	world_fill(&world, AS_IT_WAS, SIZE_BYTES, seed);
	fd = open(world_path(&world, AS_IT_WAS), O_RDONLY | O_CLOEXEC);
	must(read(fd, then, SIZE_BYTES) == SIZE_BYTES && close(fd) == 0);
	must(unlink(world_path(&world, AS_IT_WAS)) == 0);
	return got == SIZE_BYTES && memcmp(now, then, SIZE_BYTES) == 0;
}

static const long NOW = AT_FDCWD;

/* A call that would destroy f (or exchange it). */
struct destroyer {
	const char *name;
	uint32_t op;
	uint32_t flags;
	unsigned asks;
	long (*make)(void);
};

static inline struct open_how how_for(uint64_t flags)
{
	return (struct open_how){ .flags = flags };
}

static inline long do_open_trunc(void)
{
	return call(SYS_openat, NOW, text("f"), O_RDONLY | O_TRUNC, 0, 0);
}

static inline long do_open_write_trunc(void)
{
	return call(SYS_openat, NOW, text("f"), O_WRONLY | O_CREAT | O_TRUNC, 0600, 0);
}

static inline long do_open_write(void)
{
	return call(SYS_openat, NOW, text("f"), O_WRONLY, 0, 0);
}

static inline long do_open_both(void)
{
	return call(SYS_openat, NOW, text("f"), O_RDWR | O_APPEND, 0, 0);
}

static inline long do_openat2(void)
{
	struct open_how how = how_for(O_WRONLY | O_TRUNC);
	return call(SYS_openat2, NOW, text("f"), copy_to_board(&how, sizeof(how)), sizeof(how), 0);
}

static inline long do_truncate(void)
{
	return call(SYS_truncate, text("f"), 10, 0, 0, 0);
}

static inline long do_renameat(void)
{
	return call(SYS_renameat2, NOW, text("g"), NOW, text("f"), 0);
}

static inline long do_exchange(void)
{
	return call(SYS_renameat2, NOW, text("g"), NOW, text("f"), RENAME_EXCHANGE);
}

static inline long do_unlinkat(void)
{
	return call(SYS_unlinkat, NOW, text("f"), 0, 0, 0);
}

#ifdef SYS_open
static long do_old_open(void)
{
	return call(SYS_open, text("f"), O_WRONLY | O_TRUNC, 0, 0, 0);
}
static long do_creat(void)
{
	return call(SYS_creat, text("f"), 0600, 0, 0, 0);
}
static long do_rename(void)
{
	return call(SYS_rename, text("g"), text("f"), 0, 0, 0);
}
static long do_unlink(void)
{
	return call(SYS_unlink, text("f"), 0, 0, 0, 0);
}
#endif

static const struct destroyer DESTROYERS[] = {
	{ "O_TRUNC", JOURNAL_OPEN, O_RDONLY | O_TRUNC, 1, do_open_trunc },
	{ "O_WRONLY|O_TRUNC", JOURNAL_OPEN, O_WRONLY | O_CREAT | O_TRUNC, 1, do_open_write_trunc },
	{ "O_WRONLY", JOURNAL_OPEN, O_WRONLY, 1, do_open_write },
	{ "O_RDWR", JOURNAL_OPEN, O_RDWR | O_APPEND, 1, do_open_both },
	{ "openat2", JOURNAL_OPEN, O_WRONLY | O_TRUNC, 1, do_openat2 },
	{ "truncate", JOURNAL_TRUNCATE, 0, 1, do_truncate },
	{ "renameat2", JOURNAL_RENAME, 0, 1, do_renameat },
	{ "exchange", JOURNAL_RENAME, RENAME_EXCHANGE, 2, do_exchange },
	{ "unlinkat", JOURNAL_DELETE, 0, 1, do_unlinkat },
#ifdef SYS_open
	{ "open", JOURNAL_OPEN, O_WRONLY | O_TRUNC, 1, do_old_open },
	{ "creat", JOURNAL_OPEN, O_WRONLY | O_CREAT | O_TRUNC, 1, do_creat },
	{ "rename", JOURNAL_RENAME, 0, 1, do_rename },
	{ "unlink", JOURNAL_DELETE, 0, 1, do_unlink },
#endif
};

#endif
