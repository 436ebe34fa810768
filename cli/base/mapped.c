/* Mapped files that become shorter: see mapped.h. */
#include "cli/base/mapped.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/exit_code.h"

static struct sigaction inherited;
static uintptr_t page_bytes;
static void (*at_end)(void);
static volatile sig_atomic_t goes_on, was_cut, was_sent;

/* As if there were no handler. */
static void die(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };

	(void)sigaction(signal, &by_default, NULL);
	(void)raise(signal); /* delivered when the handler returns */
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	static const char LINE[] =
		"seen: a file of the session was cut short while it was read: begin again, or "
		"remove the session\n";
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_bytes - 1));

	(void)context;
	if (info->si_code <= 0) { /* another process's kill(2) */
		was_sent = 1;
		if (!goes_on)
			die(signal);
		return;
	}
	if (info->si_code != BUS_ADRERR) {
		die(signal);
		return;
	}
	was_cut = 1;
	if (goes_on && mmap(page, page_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
		return;
	if (at_end)
		at_end();
	ssize_t written = write(STDERR_FILENO, LINE, sizeof(LINE) - 1);
	(void)written;
	_exit(EXIT_CODE_BAD_SESSION);
}

void mapped_init(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)sigaction(SIGBUS, &action, &inherited);
}

void mapped_at_end(void (*undo)(void))
{
	at_end = undo;
}

void mapped_go_on(void)
{
	goes_on = 1;
}

bool mapped_was_cut(void)
{
	return was_cut;
}

bool mapped_take_sent(void)
{
	bool sent = was_sent;

	was_sent = 0;
	return sent;
}

void mapped_leave(void)
{
	(void)sigaction(SIGBUS, &inherited, NULL);
}
