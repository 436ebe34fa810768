/* The terminal: see screen.h. */
#define NCURSES_NOMACROS 1
#include "cli/screen/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/base/mapped.h"

/* The capabilities' names are macros, some of them everyday words: behind all others. */
#include <term.h>

enum { ESCAPE_MS = 25 /* what may follow an escape character is waited for */ };

static bool is_open, is_utf8;
static sigset_t waiting; /* the mask while waiting: signals arrive nowhere else */
static volatile sig_atomic_t ended_by, stopped, continued, resized;

/* For what would kill the program at once: what gives the terminal back. */
static struct termios settings;
static char goodbye[128];

/* ---- signals ---- */

static void note_exit(int signal)
{
	ended_by = signal;
}

static void note_stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void note_continue(int signal)
{
	(void)signal;
	continued = 1;
}

static void note_resize(int signal)
{
	(void)signal;
	resized = 1;
}

static void restore_terminal(void)
{
	ssize_t written = write(STDOUT_FILENO, goodbye, strlen(goodbye));
	(void)written;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

/* Returns to what killed the program, which then does. */
static void crash(int signal)
{
	(void)signal;
	restore_terminal();
}

static const struct {
	int signal;
	void (*handler)(int);
} HANDLERS[] = {
	{ SIGINT, note_exit },     { SIGTERM, note_exit }, { SIGHUP, note_exit },
	{ SIGQUIT, note_exit },    { SIGTSTP, note_stop }, { SIGCONT, note_continue },
	{ SIGWINCH, note_resize },
};

static const int CRASHES[] = { SIGSEGV, SIGILL, SIGFPE, SIGABRT };

/* One that is ignored stays so (nohup(1)). */
static void catch_signals(void)
{
	struct sigaction before;
	sigset_t blocked;

	(void)sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(HANDLERS) / sizeof(HANDLERS[0]); i++) {
		struct sigaction action = { .sa_handler = HANDLERS[i].handler };
		(void)sigemptyset(&action.sa_mask);
		(void)sigaddset(&blocked, HANDLERS[i].signal);
		if (sigaction(HANDLERS[i].signal, NULL, &before) == 0 &&
		    before.sa_handler != SIG_IGN)
			(void)sigaction(HANDLERS[i].signal, &action, NULL);
	}
	(void)sigprocmask(SIG_BLOCK, &blocked, &waiting);
	for (size_t i = 0; i < sizeof(HANDLERS) / sizeof(HANDLERS[0]); i++)
		(void)sigdelset(&waiting, HANDLERS[i].signal);
	for (size_t i = 0; i < sizeof(CRASHES) / sizeof(CRASHES[0]); i++) {
		struct sigaction action = { .sa_handler = crash, .sa_flags = SA_RESETHAND };
		(void)sigaction(CRASHES[i], &action, NULL);
	}
	mapped_at_end(restore_terminal);
}

/* ---- the terminal ---- */

/* Is there a terminal that can be drawn on?  Leaves what initscr(3) would print and exit for. */
static int check_terminal(void)
{
	const char *term = getenv("TERM");
	int found = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	if (!term || !term[0] || setupterm(NULL, STDOUT_FILENO, &found) == ERR)
		return -ENXIO;
	/* A terminal that can put the cursor somewhere and erase what is there. */
	if (!cursor_address || !clear_screen || generic_type || hard_copy)
		return -ENXIO;
	return 0;
}

/* A capability as text for crash(): without delays, which no terminal of today waits for. */
static void add_goodbye(const char *capability)
{
	size_t length = strlen(goodbye);

	for (; capability && *capability && length + 1 < sizeof(goodbye); capability++) {
		if (capability[0] == '$' && capability[1] == '<') {
			const char *end = strchr(capability, '>');
			if (end) {
				capability = end;
				continue;
			}
		}
		goodbye[length++] = *capability;
	}
	goodbye[length] = '\0';
}

int screen_open(void)
{
	(void)setlocale(LC_CTYPE, "");
	is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	int error = check_terminal();
	if (error < 0)
		return error;
	/* What they say is not true any more when the window is made larger. */
	(void)unsetenv("LINES");
	(void)unsetenv("COLUMNS");
	(void)tcgetattr(STDIN_FILENO, &settings);
	goodbye[0] = '\0';
	add_goodbye(exit_attribute_mode);
	add_goodbye(cursor_normal);
	add_goodbye(keypad_local);
	add_goodbye(exit_ca_mode);
	catch_signals(); /* ncurses leaves alone what has a handler */
	if (!initscr())
		return -ENXIO;
	is_open = true;
	(void)set_escdelay(ESCAPE_MS);
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)intrflush(stdscr, FALSE);
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)curs_set(0);
	return 0;
}

void screen_close(void)
{
	if (is_open)
		(void)endwin();
	is_open = false;
}

int screen_signal(void)
{
	return ended_by;
}

void screen_exit(void)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t set;
	int number = ended_by;

	if (!number || number == SIGINT)
		return;
	(void)sigaction(number, &by_default, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)raise(number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool screen_is_utf8(void)
{
	return is_utf8;
}

/* All is drawn anew: what the terminal made of the old picture is not known. */
static void resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		(void)resizeterm(size.ws_row, size.ws_col);
	(void)clearok(curscr, TRUE);
}

/* Gives the terminal back and stops, as the user who pressed ^Z expects; goes on where that is
 * wanted. */
static void suspend(void)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	sigset_t stop;

	(void)endwin();
	(void)sigaction(SIGTSTP, &by_default, &before);
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* here */
	(void)sigprocmask(SIG_BLOCK, &stop, NULL);
	(void)sigaction(SIGTSTP, &before, NULL);
}

/* After a stop of whatever kind: others have had the terminal. */
static void retake_terminal(void)
{
	(void)endwin();
	(void)reset_prog_mode();
	resize();
	(void)wrefresh(curscr);
}

/* ---- keys ---- */

static int32_t key_of(int found, wint_t code)
{
	static const struct {
		int code;
		int32_t key;
	} KEYS[] = {
		{ KEY_UP, SCREEN_KEY_UP },
		{ KEY_DOWN, SCREEN_KEY_DOWN },
		{ KEY_PPAGE, SCREEN_KEY_PAGE_UP },
		{ KEY_NPAGE, SCREEN_KEY_PAGE_DOWN },
		{ KEY_HOME, SCREEN_KEY_HOME },
		{ KEY_END, SCREEN_KEY_END },
		{ KEY_BTAB, SCREEN_KEY_BACK_TAB },
		{ KEY_ENTER, SCREEN_KEY_ENTER },
		{ KEY_BACKSPACE, SCREEN_KEY_BACKSPACE },
		{ KEY_DC, SCREEN_KEY_BACKSPACE },
	};

	if (found == KEY_CODE_YES) {
		for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++)
			if ((wint_t)KEYS[i].code == code)
				return KEYS[i].key;
		return SCREEN_KEY_OTHER;
	}
	switch (code) {
	case '\t':
		return SCREEN_KEY_TAB;
	case '\r':
	case '\n':
		return SCREEN_KEY_ENTER;
	case 0x1b:
		return SCREEN_KEY_ESCAPE;
	case 0x7f:
	case '\b':
		return SCREEN_KEY_BACKSPACE;
	default:
		return code < SCREEN_KEY_UP ? (int32_t)code : SCREEN_KEY_OTHER;
	}
}

/* A key that has been pressed; NOTHING: there is none. */
static int32_t next_key(void)
{
	wint_t code = 0;
	int found = wget_wch(stdscr, &code);

	if (found == ERR)
		return SCREEN_WAIT_NOTHING;
	if (found == KEY_CODE_YES && code == KEY_RESIZE)
		return SCREEN_WAIT_RESIZED;
	return key_of(found, code);
}

int32_t screen_wait(int timeout_ms)
{
	struct timespec timeout = { .tv_sec = timeout_ms / 1000,
				    .tv_nsec = (long)(timeout_ms % 1000) * 1000000 };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int32_t key = next_key();

	if (key != SCREEN_WAIT_NOTHING)
		return key;
	int ready = ppoll(&input, 1, &timeout, &waiting);
	if (ended_by)
		return SCREEN_WAIT_END;
	if (stopped) {
		stopped = 0;
		suspend();
		continued = 1;
	}
	if (continued) {
		continued = resized = 0;
		retake_terminal();
		return SCREEN_WAIT_RESIZED;
	}
	if (resized) {
		resized = 0;
		resize();
		return SCREEN_WAIT_RESIZED;
	}
	if (ready <= 0)
		return SCREEN_WAIT_NOTHING;
	if (input.revents & (POLLHUP | POLLERR | POLLNVAL))
		return SCREEN_WAIT_END;
	key = next_key();
	/* Readable, and nothing to read: the other side is gone, or a character is not complete. */
	int available = 0;
	if (key == SCREEN_WAIT_NOTHING &&
	    (ioctl(STDIN_FILENO, FIONREAD, &available) < 0 && errno == EIO))
		return SCREEN_WAIT_END;
	return key;
}
