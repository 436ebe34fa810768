/* Help texts: see help.h. */
#include "cli/base/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/option.h"

enum {
	WIDTH_MIN = 40,
	WIDTH_DEFAULT = 80,
	WIDTH_MAX = 100, /* longer lines are hard to read */
	LEFT_MAX = 26,   /* columns of the names; a longer name has a line of its own */
};

static int width(void)
{
	const char *variable = getenv("COLUMNS");
	long columns = variable ? strtol(variable, NULL, 10) : 0;
	struct winsize size;

	if (columns <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0)
		columns = WIDTH_DEFAULT;
	return (int)(columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : columns);
}

void help_list(FILE *file, const struct help_entry *entries, size_t count)
{
	size_t columns = width() < WIDTH_DEFAULT ? 1 : 2, rows = (count + columns - 1) / columns;

	for (size_t row = 0; row < rows; row++) {
		const struct help_entry *left = &entries[row];
		if (row + rows < count)
			(void)fprintf(file, "  %-8s %-29s  %-8s %s\n", left->name, left->summary,
				      entries[row + rows].name, entries[row + rows].summary);
		else
			(void)fprintf(file, "  %-8s %s\n", left->name, left->summary);
	}
}

/* Prints a text from `column` on, where the line stands at `used`.  Later lines begin there too. */
static void print_text(const char *text, int column, int used)
{
	int end = width();
	bool first = true;

	while (*text != '\0') {
		int length = (int)strcspn(text, " ");

		if (!first && used + 1 + length > end) {
			(void)putchar('\n');
			used = 0;
			first = true;
		}
		if (first)
			used += printf("%*s%.*s", column > used ? column - used : 0, "", length,
				       text);
		else
			used += printf(" %.*s", length, text);
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	(void)putchar('\n');
}

/* "--name VALUE, -n VALUE": `name` is the long form, `other` a short one or NULL. */
static int option_name(char *buffer, size_t bytes, const char *name, const char *other,
		       const char *argument)
{
	const char *space = argument ? " " : "", *value = argument ? argument : "";

	if (!other)
		return snprintf(buffer, bytes, "%s%s%s", name, space, value);
	return snprintf(buffer, bytes, "%s%s%s, %s%s%s", name, space, value, other, space, value);
}

/* The widest column of names that leaves enough of the line to the texts. */
static int left_max(void)
{
	return LEFT_MAX < width() / 3 ? LEFT_MAX : width() / 3;
}

static void print_option(const char *left, int left_width, const char *help)
{
	int used = printf("  %s", left);

	if (used > left_width + 2) {
		(void)putchar('\n');
		used = 0;
	}
	print_text(help, left_width + 4, used);
}

/* An option without a help text is another name of the one before it. */
static const char *other_name(const struct options *options, int i)
{
	return i + 1 < options->spec_count && !options->specs[i + 1].help
		       ? options->specs[i + 1].name
		       : NULL;
}

static void (*diverted)(const struct options *options);

void help_divert(void (*receive)(const struct options *options))
{
	diverted = receive;
}

void help_command(const struct options *options)
{
	char left[80];
	int left_width = (int)strlen("--help");

	if (diverted) {
		diverted(options);
		return;
	}
	for (int i = 0; i < options->spec_count; i++) {
		const struct option_spec *spec = &options->specs[i];
		if (!spec->help)
			continue;
		int length = option_name(left, sizeof(left), spec->name, other_name(options, i),
					 spec->argument);
		if (length > left_width && length <= left_max())
			left_width = length;
	}
	(void)printf("usage: seen %s\n\n", options->usage);
	print_text(options->summary, 0, 0);
	(void)putchar('\n');
	for (int i = 0; i < options->spec_count; i++) {
		const struct option_spec *spec = &options->specs[i];
		if (!spec->help)
			continue;
		(void)option_name(left, sizeof(left), spec->name, other_name(options, i),
				  spec->argument);
		print_option(left, left_width, spec->help);
	}
	print_option("--help", left_width, "this text; `seen help options`: all other options");
}

void help_options(void)
{
	char left[80];
	int left_width = left_max();

	print_text("Options of configuration. Every command takes them, after its name: `seen run "
		   "--mode observe -- codex`. "
		   "`seen config --docs` explains all settings, `seen config` shows their values.",
		   0, 0);
	(void)putchar('\n');
	print_option("--config FILE", left_width, "read this seen.ini too");
	print_option("-c SECTION.NAME=VALUE", left_width, "set any option");
	print_option("--utc", left_width, HELP_UTC);
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);
		if (!option->flag[0])
			continue;
		(void)snprintf(left, sizeof(left), "--%s %s", option->flag,
			       option->kind == OPTION_LIST ? "WORDS" : "VALUE");
		print_option(left, left_width, option->doc);
	}
}
