/* Hazard: a tree of 1,000 processes (3,000 with SEEN_LONG), 200 at once; some are killed while a call of theirs is under way, some leave children behind. */
#include "check.h"

enum { ALL_MAX = 3000, AT_ONCE = 200 };

static void live(int number)
{
	char name[32];
	int fd;

	(void)snprintf(name, sizeof(name), "file%d", number % 50);
	switch (number % 10) {
	case 0:
		execl("/bin/true", "true", NULL);
		_exit(126);
	case 1: /* one in a hundred ends by a signal, in the middle of what it does */
		if (number % 100 != 1)
			_exit(1);
		for (;;)
			close(open(name, O_RDWR | O_CREAT, 0644));
	case 2: /* an orphan outlives it */
		if (fork() == 0) {
			fd = open(name, O_RDWR | O_CREAT, 0644);
			_exit(fd < 0);
		}
		_exit(2);
	default:
		fd = open(name, O_RDWR | O_CREAT, 0644);
		_exit(fd < 0 ? 125 : number % 10);
	}
}

int main(void)
{
	static pid_t pids[ALL_MAX];
	const int all = getenv("SEEN_LONG") ? ALL_MAX : ALL_MAX / 3;
	int started = 0, ended = 0, wrong = 0, oldest = 0;

	while (ended < all) {
		while (started < all && started - ended < AT_ONCE) {
			pids[started] = fork();
			CHECK(pids[started] >= 0);
			if (pids[started] == 0)
				live(started);
			started++;
		}
		if (started == all || started - ended == AT_ONCE) {
			int status;
			if (oldest % 100 == 1)
				kill(pids[oldest], SIGKILL);
			CHECK(waitpid(pids[oldest], &status, 0) == pids[oldest]);
			bool as_it_should = oldest % 100 == 1
						    ? WIFSIGNALED(status) &&
							      WTERMSIG(status) == SIGKILL
						    : WIFEXITED(status) &&
							      WEXITSTATUS(status) == oldest % 10;
			wrong += !as_it_should;
			oldest++;
			ended++;
		}
	}
	printf("%d processes, %d wrong\n", ended, wrong);
	return 0;
}
