/* Files of shells: see shell_rc.h. */
#include "cli/enable/shell_rc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/file_replace.h"
#include "cli/base/memory_stream.h"
#include "tracker/path/path.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static const char MADE[] = "# Made by `seen enable`; `seen disable --all` removes it.\n";
static const char MARK[] = " # seen enable";
static const char OWN_MARK[] = " # seen enable, file and all"; /* of a file that was not there */
static const char OPEN_MARK[] = " # seen enable, newline and all"; /* ... that ended without one */

/* The line in a file: where it begins, NULL: it has none, and how long it is with its mark, without
 * the newline. */
struct shell_found {
	const char *at;
	size_t length;
	bool is_own, is_open;
};

int shell_line(char *ret_line, size_t capacity)
{
	char path[PATH_MAX];
	int error = enabled_path("enabled.sh", path, sizeof(path));

	if (error < 0)
		return error;
	int length = snprintf(ret_line, capacity, "[ -r '%s' ] && . '%s'", path, path);
	return length < 0 || (size_t)length >= capacity || strchr(path, '\'') ? -ENAMETOOLONG : 0;
}

static bool add_file(struct shell_file *files, size_t *count, bool is_wanted, bool is_own,
		     const char *directory, const char *name)
{
	struct shell_file *file = &files[*count];

	*file = (struct shell_file){ .is_own = is_own };
	if (snprintf(file->path, sizeof(file->path), "%s/%s", directory, name) >=
	    (int)sizeof(file->path))
		return false;
	bool exists = access(file->path, F_OK) == 0;
	if (!exists && !is_wanted)
		return false;
	(*count)++;
	return exists;
}

/* All of a file, ended by a NUL; NULL: it cannot be had, "" for none. */
static char *read_file(const char *path, size_t *ret_length, struct stat *ret_stat,
		       bool *ret_exists)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = NULL;

	*ret_length = 0;
	*ret_exists = fd >= 0;
	if (fd < 0)
		return errno == ENOENT ? calloc(1, 1) : NULL;
	if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode) &&
	    ret_stat->st_size < FILE_BYTES_MAX &&
	    (bytes = calloc(1, (size_t)ret_stat->st_size + 1))) {
		ssize_t length = read(fd, bytes, (size_t)ret_stat->st_size);
		if (length == ret_stat->st_size && !memchr(bytes, '\0', (size_t)length)) {
			*ret_length = (size_t)length;
		} else {
			free(bytes);
			bytes = NULL;
		}
	}
	(void)close(fd);
	return bytes;
}

static bool is_mark(const char *text, size_t length, const char *mark)
{
	return length == strlen(mark) && strncmp(text, mark, length) == 0;
}

static struct shell_found find_line(const char *text)
{
	char line[2 * PATH_MAX + 64];
	struct shell_found found = { .at = NULL };

	if (shell_line(line, sizeof(line)) < 0)
		return found;
	size_t length = strlen(line);
	for (const char *at = text; (at = strstr(at, line)); at += length) {
		const char *mark = at + length;
		size_t bytes = strcspn(mark, "\n");
		found.is_own = is_mark(mark, bytes, OWN_MARK);
		found.is_open = is_mark(mark, bytes, OPEN_MARK);
		bool is_own_line = found.is_own || found.is_open || is_mark(mark, bytes, MARK);
		if (!is_own_line || (at > text && at[-1] != '\n'))
			continue;
		found.at = at;
		found.length = length + bytes;
		break;
	}
	return found;
}

static bool is_made(const char *text)
{
	return strncmp(text, MADE, sizeof(MADE) - 1) == 0;
}

/* What is in a file that is there. */
static void inspect(struct shell_file *file)
{
	struct stat stat;
	size_t length;
	bool exists;
	char *text = read_file(file->path, &length, &stat, &exists);

	file->is_unread = !text;
	file->has_it = text && (file->is_own ? is_made(text) : find_line(text).at != NULL);
	free(text);
}

size_t shell_files(struct shell_file ret_files[static SHELL_FILES_MAX])
{
	const char *home = getenv("HOME"), *shell = getenv("SHELL");
	const char *zsh = getenv("ZDOTDIR"), *config = getenv("XDG_CONFIG_HOME");
	const char *name = shell ? path_base(shell) : "";
	char fish[PATH_MAX];
	size_t count = 0;

	if (!home || home[0] != '/' ||
	    snprintf(fish, sizeof(fish), "%s%s", config && config[0] == '/' ? config : home,
		     config && config[0] == '/' ? "/fish" : "/.config/fish") >= (int)sizeof(fish))
		return 0;
	bool has_fish = access(fish, F_OK) == 0 || strcmp(name, "fish") == 0;
	(void)add_file(ret_files, &count, strcmp(name, "bash") == 0, false, home, ".bashrc");
	(void)add_file(ret_files, &count, strcmp(name, "zsh") == 0, false,
		       zsh && zsh[0] == '/' ? zsh : home, ".zshrc");
	(void)add_file(ret_files, &count, has_fish, true, fish, "conf.d/seen.fish");
	for (size_t i = 0; i < count; i++)
		inspect(&ret_files[i]);
	return count;
}

const char *shell_without_file(void)
{
	static const char *const KNOWN[] = { "bash", "zsh", "fish", "" };
	const char *shell = getenv("SHELL");
	const char *name = shell ? path_base(shell) : "";

	for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++)
		if (strcmp(name, KNOWN[i]) == 0)
			return NULL;
	return name;
}

bool shell_by_functions(void)
{
	char path[PATH_MAX];
	struct stat stat;
	size_t length;
	bool exists;
	char *text = enabled_path("enabled.sh", path, sizeof(path)) == 0
			     ? read_file(path, &length, &stat, &exists)
			     : NULL;
	bool found = text && strstr(text, "() {");

	free(text);
	return found;
}

/* An alias of the name would be put in its place where the function is defined.  One that adds options
 * to the name comes back: it leads to the function.  So does one that begins with a path: its program may
 * not be on PATH.  bash prints `alias` before it, zsh does not. */
static void print_function(FILE *out, const char *name, const char *launchers)
{
	(void)fprintf(
		out,
		"seen_alias=\nif alias %s >/dev/null 2>&1; then seen_alias=$(alias %s); "
		"unalias %s; fi\n"
		"%s() { if [ -x '%s/%s' ]; then '%s/%s' \"$@\"; else command %s \"$@\"; "
		"fi; }\n"
		"seen_alias=${seen_alias#alias }\ncase ${seen_alias%%%% *} in "
		"\"%s='%s\"|\"%s=\"*/*) eval \"alias $seen_alias\" ;; esac\nunset seen_alias\n",
		name, name, name, name, launchers, name, launchers, name, name, name, name, name);
}

static void print_functions(FILE *out, const struct enabled *enabled, const char *launchers,
			    bool for_fish)
{
	for (size_t i = 0; i < enabled->count; i++) {
		const char *name = enabled->agents[i].name;
		if (i && strcmp(name, enabled->agents[i - 1].name) == 0)
			continue;
		/* without seen the launcher leads nowhere, and the agent starts all the same */
		if (for_fish)
			(void)fprintf(out,
				      "function %s; if test -x '%s/%s'; '%s/%s' $argv; else; "
				      "command %s $argv; end; end\n",
				      name, launchers, name, launchers, name, name);
		else
			print_function(out, name, launchers);
	}
}

char *shell_text(const struct enabled *enabled, bool by_functions, bool for_fish)
{
	char launchers[PATH_MAX], *text = NULL;
	size_t length = 0;

	if (enabled_path("launchers", launchers, sizeof(launchers)) < 0)
		return NULL;
	FILE *out = memory_stream_open(&text, &length);
	if (!out)
		return NULL;
	(void)fputs(MADE, out);
	if (by_functions)
		print_functions(out, enabled, launchers, for_fish);
	else if (for_fish)
		(void)fprintf(out, "set -gx PATH '%s' $PATH\n", launchers);
	else
		(void)fprintf(
			out,
			"case $PATH in\n'%s':*) ;;\n*) PATH='%s':$PATH ;;\nesac\nexport PATH\n",
			launchers, launchers);
	if (fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static int replace(const char *path, const char *text, char *ret_fault, size_t capacity)
{
	struct stat before;
	size_t length;
	bool exists;
	char *old = read_file(path, &length, &before, &exists);
	int done = !old ? -EEXIST : strcmp(old, text) == 0 && exists ? 0 : 1;

	if (done < 0)
		(void)snprintf(ret_fault, capacity, "%s: cannot be read as text", path);
	else if (done > 0) {
		int error = file_replace(path, text, strlen(text), exists ? &before : NULL,
					 ret_fault, capacity);
		done = error < 0 ? error : 1;
	}
	free(old);
	return done;
}

/* A file of that name that a person has written stays. */
static int write_own(const struct shell_file *file, const char *text, char *ret_fault,
		     size_t capacity)
{
	if (file->has_it || access(file->path, F_OK) < 0)
		return replace(file->path, text, ret_fault, capacity);
	(void)snprintf(ret_fault, capacity,
		       "%s: was not made by `seen enable`, and was left; give yours another name",
		       file->path);
	return -EEXIST;
}

int shell_add(const struct shell_file *file, const char *text, char *ret_fault, size_t capacity)
{
	char line[2 * PATH_MAX + 64], *joined = NULL;
	struct stat stat;
	size_t length;
	bool exists;

	if (file->has_it && !file->is_own)
		return 0;
	if (file->is_own)
		return write_own(file, text, ret_fault, capacity);
	if (shell_line(line, sizeof(line)) < 0) {
		(void)snprintf(ret_fault, capacity,
			       "the home directory cannot be named in a shell");
		return -EINVAL;
	}
	char *old = read_file(file->path, &length, &stat, &exists);
	bool is_open = length && old[length - 1] != '\n';
	int error = !old || asprintf(&joined, "%s%s%s%s\n", old, is_open ? "\n" : "", line,
				     !exists   ? OWN_MARK
				     : is_open ? OPEN_MARK
					       : MARK) < 0
			    ? -EEXIST
			    : 0;
	if (error < 0)
		(void)snprintf(ret_fault, capacity, "%s: cannot be read as text", file->path);
	else
		error = replace(file->path, joined, ret_fault, capacity);
	free(joined);
	free(old);
	return error;
}

int shell_remove(const struct shell_file *file, char *ret_fault, size_t capacity)
{
	struct stat stat;
	struct shell_found found = { .at = NULL };
	size_t length;
	bool exists;

	if (!file->has_it)
		return 0;
	ret_fault[0] = '\0';
	if (file->is_own)
		return unlink(file->path) < 0 && errno != ENOENT ? -errno : 1;
	char *text = read_file(file->path, &length, &stat, &exists);
	int done = text ? 0 : -EIO;
	if (text)
		found = find_line(text);
	if (found.at) {
		char *line = text + (found.at - text), *behind = line + found.length;
		behind += *behind == '\n';
		/* the newline before it was ours, too; what came behind since then needs it */
		if (found.is_open && !*behind && line > text)
			line--;
		memmove(line, behind, strlen(behind) + 1);
		done = found.is_own && !text[0] ? (unlink(file->path) < 0 ? -errno : 1)
						: replace(file->path, text, ret_fault, capacity);
	}
	free(text);
	return done;
}
