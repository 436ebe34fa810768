/* Hooks of agents: see hooks.h. */
#include "cli/agents/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agents/hooks_data.h"
#include "cli/agents/hooks_document.h"
#include "cli/base/executable.h"
#include "cli/base/file_replace.h"
#include "cli/base/json_edit.h"
#include "cli/base/memory_stream.h"
#include "cli/base/message.h"
#include "tracker/process/hook_command.h"

enum { FILE_BYTES_MAX = 16 << 20 };

static const struct hooks_agent AGENTS[] = {
#define HOOKS(name, alias, form, user, project, data, answers, tried, note, package) \
	{ name, \
	  alias, \
	  HOOKS_##form, \
	  user, \
	  project, \
	  hooks_##data, \
	  answers, \
	  tried, \
	  note, \
	  package, \
	  "`seen hooks install " name "`" },
#include "cli/agents/hooks.def"
#undef HOOKS
};

size_t hooks_count(void)
{
	return sizeof(AGENTS) / sizeof(AGENTS[0]);
}

const struct hooks_agent *hooks_at(size_t index)
{
	return &AGENTS[index];
}

const struct hooks_agent *hooks_find(const char *name)
{
	for (size_t i = 0; i < hooks_count(); i++)
		if (strcmp(AGENTS[i].name, name) == 0 ||
		    (AGENTS[i].alias && strcmp(AGENTS[i].alias, name) == 0))
			return &AGENTS[i];
	return NULL;
}

/* ---- where ---- */

/* One place.  -ENOENT: what it begins with is not known. */
static int expand_one(const char *place, size_t length, char *ret_path, size_t capacity)
{
	char variable[64] = "HOME";
	size_t skipped = 0;

	if (place[0] == '$') {
		skipped = strcspn(place, "/");
		if (skipped - 1 >= sizeof(variable))
			return -ENOENT;
		(void)snprintf(variable, sizeof(variable), "%.*s", (int)skipped - 1, place + 1);
	} else if (place[0] == '~') {
		skipped = 1;
	}
	const char *value = skipped ? getenv(variable) : "";
	if (!value || (skipped && value[0] != '/'))
		return -ENOENT;
	int written = snprintf(ret_path, capacity, "%s%.*s", value, (int)(length - skipped),
			       place + skipped);
	return written < (int)capacity ? 0 : -ENAMETOOLONG;
}

int hooks_expand(const char *places, char *ret_path, size_t capacity)
{
	int error = -ENOENT;

	while (error == -ENOENT && *places) {
		size_t length = strcspn(places, "|");
		error = expand_one(places, length, ret_path, capacity);
		places += length + (places[length] == '|');
	}
	return error;
}

__attribute__((format(printf, 2, 3))) static void blame(struct hooks_place *place,
							const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(place->fault, sizeof(place->fault), format, arguments);
	va_end(arguments);
	place->state = HOOKS_UNKNOWN;
}

/* ---- what ---- */

/* The program as commands of hooks name it: by name where PATH has it and not by_path, else by its
 * path, for a shell.  Writes it as it stands in a JSON string or one of JavaScript. */
static int program_word(bool by_path, char *ret_word, size_t capacity)
{
	char self[PATH_MAX], found[PATH_MAX], resolved[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return -ENOENT;
	self[length] = '\0';
	if (!by_path && executable_find(HOOK_COMMAND_PROGRAM, found, sizeof(found)) == 0 &&
	    realpath(found, resolved) && strcmp(resolved, self) == 0)
		return snprintf(ret_word, capacity, "%s", HOOK_COMMAND_PROGRAM) < (int)capacity
			       ? 0
			       : -ENAMETOOLONG;
	bool plain = strspn(self, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/"
				  "._+-") == strlen(self);
	size_t used = 0;
	FILE *out = fmemopen(ret_word, capacity, "w");
	if (!out)
		return -ENOMEM;
	if (!plain)
		(void)fputc('\'', out);
	for (const char *at = self; *at; at++) {
		if (*at == '\'')
			(void)fputs("'\\\\''", out);
		else if (*at == '"' || *at == '\\')
			(void)fprintf(out, "\\%c", *at);
		else if ((unsigned char)*at < ' ')
			(void)fprintf(out, "\\u%04x", (unsigned)*at);
		else
			(void)fputc(*at, out);
	}
	if (!plain)
		(void)fputc('\'', out);
	(void)fflush(out);
	used = (size_t)ftell(out);
	(void)fclose(out);
	return used < capacity ? 0 : -ENAMETOOLONG;
}

/* A file that is for both kinds has a line that tells which.  text: taken over.  NULL: no memory. */
static char *without_answers(char *text)
{
	static const char BOTH[] = "const answers = true;", FORGETS[] = "const answers = false;";
	const char *line = text ? strstr(text, BOTH) : NULL;
	char *changed = NULL;

	if (line && asprintf(&changed, "%.*s%s%s", (int)(line - text), text, FORGETS,
			     line + strlen(BOTH)) < 0)
		changed = NULL;
	free(text);
	return changed;
}

/* Writes a text with the program's word in the program's place.  text: as shipped. */
static void write_with_program(FILE *out, const char *text, const char *word)
{
	static const char IF_THERE[] = HOOK_COMMAND_IF_THERE(HOOK_COMMAND_PROGRAM);
	const size_t guard = strlen(IF_THERE);
	const char *at = text;
	size_t length = 0;

	for (const char *mark; (mark = hook_command_mark(at, &length)); at = mark + length) {
		const char *program = mark - strlen(HOOK_COMMAND_PROGRAM);
		size_t before = (size_t)(program - at);
		bool guarded = before >= guard && strncmp(program - guard, IF_THERE, guard) == 0;
		(void)fprintf(out, "%.*s", (int)(guarded ? before - guard : before), at);
		if (guarded)
			(void)fprintf(out, HOOK_COMMAND_IF_THERE("%s"), word);
		(void)fprintf(out, "%s%.*s", word, (int)length, mark);
	}
	(void)fputs(at, out);
}

static char *text_of(const struct hooks_agent *agent, enum hooks_kind kind, bool by_path)
{
	char word[PATH_MAX * 4], *text = NULL;
	size_t used = 0;

	if (program_word(by_path, word, sizeof(word)) < 0)
		return NULL;
	FILE *out = memory_stream_open(&text, &used);
	if (!out)
		return NULL;
	write_with_program(
		out, kind == HOOKS_FORGET || !agent->answers ? agent->data : agent->answers, word);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return kind == HOOKS_FORGET && agent->data == agent->answers ? without_answers(text) : text;
}

char *hooks_text(const struct hooks_agent *agent, enum hooks_kind kind)
{
	return text_of(agent, kind, false);
}

/* The hooks that are to be there.  flags: JSON_DECODE_INT_AS_REAL: to be compared with what was
 * read (json_edit_check). */
static json_t *wanted_document(const struct hooks_agent *agent, enum hooks_kind kind, bool by_path,
			       size_t flags)
{
	char *text = text_of(agent, kind, by_path);
	json_t *wanted = text ? json_loads(text, flags, NULL) : NULL;

	free(text);
	return wanted;
}

/* ---- reading ---- */

/* Reads an open file whole.  Returns its text, or NULL with *ret_error. */
static char *read_open(int fd, struct stat *ret_stat, size_t *ret_length, int *ret_error)
{
	size_t used = 0;

	*ret_error = -EISDIR;
	if (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode))
		return NULL;
	*ret_error = -EFBIG;
	if (ret_stat->st_size > FILE_BYTES_MAX)
		return NULL;
	size_t size = (size_t)ret_stat->st_size;
	char *bytes = malloc(size + 1);
	*ret_error = -ENOMEM;
	for (ssize_t got = 1; bytes && used < size && got > 0; used += (size_t)got) {
		got = read(fd, bytes + used, size - used);
		if (got < 0) {
			*ret_error = -EIO;
			free(bytes);
			return NULL;
		}
	}
	if (bytes)
		bytes[used] = '\0';
	*ret_length = used;
	return bytes;
}

/* Reads a file whole.  Returns 0; -EISDIR for what is no file; -EFBIG, -EIO, -ENOMEM; errors of
 * open(2). */
static int read_file(const char *path, struct json_text *ret_text, struct stat *ret_stat)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
	size_t length = 0;

	if (fd < 0)
		return -errno;
	char *bytes = read_open(fd, ret_stat, &length, &error);
	(void)close(fd);
	if (!bytes)
		return error;
	*ret_text = (struct json_text){ .bytes = bytes, .length = length };
	return 0;
}

/* Says that a member of an object is not of the kind that hooks can be put into. */
static void blame_member(struct hooks_place *place, const struct json_text *text,
			 struct json_span object, const char *key, const char *kind)
{
	struct json_item item = { .whole = object };
	size_t index;

	(void)json_edit_member(text, object, key, &index, &item);
	blame(place, "%s:%d: \"%s\" is no %s; make it one, or add the hooks by hand", place->path,
	      json_edit_line(text, item.whole.start), key, kind);
}

/* Can hooks be put into the document, or taken out?  Says why not. */
static bool check_document(const json_t *document, const struct json_text *text,
			   const json_t *wanted, struct hooks_place *place)
{
	const json_t *hooks = json_object_get(document, "hooks");
	json_t *events = json_object_get(wanted, "hooks");
	struct json_span root = json_edit_root(text);
	struct json_item item;
	size_t index;

	if (!json_is_object(document)) {
		blame(place, "%s:%d: not a JSON object; make it one, or add the hooks by hand",
		      place->path, json_edit_line(text, root.start));
		return false;
	}
	if (hooks && !json_is_object(hooks)) {
		blame_member(place, text, root, "hooks", "object");
		return false;
	}
	if (!json_edit_member(text, root, "hooks", &index, &item))
		return true;
	for (void *at = json_object_iter(events); at; at = json_object_iter_next(events, at)) {
		const json_t *there = json_object_get(hooks, json_object_iter_key(at));
		if (there && !json_is_array(there)) {
			blame_member(place, text, item.value, json_object_iter_key(at), "list");
			return false;
		}
	}
	return true;
}

/* Reads a JSON file that hooks are in, or may be put into.  Says what is wrong.  Returns the
 * document, a new reference, and its text; NULL where there is none, or none that will do. */
static json_t *read_document(struct hooks_place *place, const json_t *wanted,
			     struct json_text *ret_text, struct stat *ret_stat)
{
	char words[JSON_ERROR_TEXT_LENGTH];
	struct json_text text = { .bytes = NULL };
	int line = 1;
	int error = read_file(place->path, &text, ret_stat);

	place->exists = error != -ENOENT;
	if (error < 0) {
		if (error != -ENOENT)
			blame(place, "%s: cannot be read: %s", place->path, strerror(-error));
		return NULL;
	}
	json_t *document = json_edit_check(&text, &line, words, sizeof(words));
	if (!document) {
		blame(place, "%s:%d: %s; correct it, or add the hooks by hand", place->path, line,
		      words);
	} else if (!check_document(document, &text, wanted, place)) {
		json_decref(document);
		document = NULL;
	}
	if (!document)
		json_edit_free(&text);
	else
		*ret_text = text;
	return document;
}

static void inspect_merged(const struct hooks_agent *agent, enum hooks_kind kind, bool by_path,
			   struct hooks_place *place)
{
	struct json_text text = { .bytes = NULL };
	struct stat stat;
	json_t *wanted = wanted_document(agent, kind, by_path, JSON_DECODE_INT_AS_REAL);
	json_t *document = read_document(place, wanted, &text, &stat);

	if (document && wanted) {
		place->state = hooks_document_state(document, wanted);
		place->is_off = json_is_true(json_object_get(document, "disableAllHooks"));
	}
	if (!wanted)
		blame(place, "out of memory");
	json_decref(wanted);
	json_decref(document);
	json_edit_free(&text);
}

static void inspect_file(const struct hooks_agent *agent, enum hooks_kind kind, bool by_path,
			 struct hooks_place *place)
{
	struct json_text text = { .bytes = NULL };
	struct stat stat;
	size_t length = 0;
	char *wanted = text_of(agent, kind, by_path);
	int error = read_file(place->path, &text, &stat);

	place->exists = error != -ENOENT;
	if (error < 0 && error != -ENOENT)
		blame(place, "%s: cannot be read: %s", place->path, strerror(-error));
	else if (text.bytes && wanted && strcmp(text.bytes, wanted) == 0)
		place->state = HOOKS_INSTALLED;
	else if (text.bytes && hook_command_mark(text.bytes, &length))
		place->state = HOOKS_OTHER;
	else if (text.bytes)
		blame(place, "%s: is none of seen's; give it another name", place->path);
	if (!wanted)
		blame(place, "out of memory");
	json_edit_free(&text);
	free(wanted);
}

void hooks_inspect(const struct hooks_agent *agent, const char *project,
		   struct hooks_place *ret_place)
{
	*ret_place = (struct hooks_place){ .state = HOOKS_ABSENT };
	size_t length = project && project[0]
				? (size_t)snprintf(ret_place->path, sizeof(ret_place->path), "%s/",
						   project)
				: 0;
	int error = length >= sizeof(ret_place->path)
			    ? -ENAMETOOLONG
			    : hooks_expand(project ? agent->project : agent->user,
					   ret_place->path + length,
					   sizeof(ret_place->path) - length);
	if (error < 0) {
		ret_place->path[0] = '\0';
		blame(ret_place, error == -ENOENT ? "there is no home directory: set HOME"
						  : "the path is too long");
		return;
	}
	/* The PATH of today need not be the one of the day on which they were installed. */
	for (int attempt = 0; attempt < 2 * HOOKS_KINDS; attempt++) {
		bool by_path = attempt % 2;
		ret_place->state = HOOKS_ABSENT;
		ret_place->kind = (enum hooks_kind)(attempt / 2);
		if (agent->form == HOOKS_FILE)
			inspect_file(agent, ret_place->kind, by_path, ret_place);
		else
			inspect_merged(agent, ret_place->kind, by_path, ret_place);
		if (ret_place->state != HOOKS_OTHER)
			return;
	}
}

/* An agent that installs a package of its own beside a plugin waits for that at each start. */
static void warn_of_package(const struct hooks_agent *agent, const struct hooks_place *place)
{
	char directory[PATH_MAX], path[PATH_MAX + 128];

	if (!agent->package || place->state != HOOKS_ABSENT)
		return;
	(void)snprintf(directory, sizeof(directory), "%s", place->path);
	for (int i = 0; i < 2; i++)
		if (strrchr(directory, '/'))
			*strrchr(directory, '/') = '\0';
	(void)snprintf(path, sizeof(path), "%s/node_modules/%s", directory, agent->package);
	if (access(path, F_OK) == 0)
		return;
	message("%s installs %s into %s before it runs a plugin; where npm cannot be reached, it "
		"waits "
		"some 70 s at each start, without `seen`, too; the line fetch-retries=0 in "
		"%s/.npmrc ends that",
		agent->name, agent->package, directory, directory);
}

void hooks_warn(const struct hooks_agent *agent, const struct hooks_place *place)
{
	warn_of_package(agent, place);
	if (place->is_off)
		message("%s says \"disableAllHooks\": %s runs none", place->path, agent->name);
}

/* ---- writing ---- */

/* Replaces a file, whole or not at all.  Says what went wrong. */
static int replace_file(struct hooks_place *place, const char *bytes, size_t count,
			const struct stat *before)
{
	char fault[HOOKS_FAULT_BYTES];
	int error = file_replace(place->path, bytes, count, before, fault, sizeof(fault));

	if (error < 0)
		blame(place, "%s", fault);
	return error;
}

static int out_of_memory(struct hooks_place *place)
{
	blame(place, "out of memory");
	return -ENOMEM;
}

/* Puts the hooks into a JSON file that is there. */
static int merge(struct hooks_place *place, const json_t *wanted)
{
	struct json_text text = { .bytes = NULL };
	struct stat stat = { 0 };
	json_t *document = read_document(place, wanted, &text, &stat);

	if (!document)
		return -EEXIST;
	int error = hooks_document_remove(&text);
	if (error == 0)
		error = hooks_document_insert(&text, wanted);
	if (error < 0)
		(void)out_of_memory(place);
	else
		error = replace_file(place, text.bytes, text.length, &stat);
	json_decref(document);
	json_edit_free(&text);
	return error < 0 ? error : 1;
}

/* Replaces a file of hooks of ours. */
static int rewrite(struct hooks_place *place, const char *wanted)
{
	struct stat before = { 0 };

	if (stat(place->path, &before) < 0) {
		blame(place, "%s: %s", place->path, strerror(errno));
		return -EEXIST;
	}
	int error = replace_file(place, wanted, strlen(wanted), &before);
	return error < 0 ? error : 1;
}

int hooks_install(const struct hooks_agent *agent, struct hooks_place *place, enum hooks_kind kind)
{
	if (place->state == HOOKS_UNKNOWN)
		return -EEXIST;
	if (place->state == HOOKS_INSTALLED && (place->kind == kind || !agent->answers))
		return 0;
	char *text = hooks_text(agent, kind);
	json_t *wanted = agent->form == HOOKS_MERGED ? wanted_document(agent, kind, false, 0)
						     : NULL;
	int done = !text || (agent->form == HOOKS_MERGED && !wanted) ? out_of_memory(place) : 0;

	if (done < 0)
		;
	else if (!place->exists)
		done = replace_file(place, text, strlen(text), NULL) < 0 ? -EIO : 1;
	else if (agent->form == HOOKS_FILE)
		done = rewrite(place, text);
	else
		done = merge(place, wanted);
	if (done > 0)
		place->state = HOOKS_INSTALLED, place->kind = kind;
	json_decref(wanted);
	free(text);
	return done;
}

/* Removes a file that holds nothing but what was installed. */
static int remove_file(struct hooks_place *place)
{
	if (unlink(place->path) == 0)
		return 1;
	int error = -errno;
	blame(place, "%s: cannot be removed: %s", place->path, strerror(-error));
	return error;
}

static int remove_own(const struct hooks_agent *agent, struct hooks_place *place)
{
	struct json_text text = { .bytes = NULL };
	struct stat stat = { 0 }, link;
	json_t *document = read_document(place, NULL, &text, &stat);
	char *made = hooks_text(agent, place->kind);
	int error = 0;

	if (!document || !made || !text.bytes) {
		error = document ? out_of_memory(place) : -EEXIST;
	} else if (strcmp(text.bytes, made) == 0 && lstat(place->path, &link) == 0 &&
		   S_ISREG(link.st_mode)) {
		error = remove_file(place); /* we made it */
	} else {
		error = hooks_document_remove(&text);
		if (error < 0)
			(void)out_of_memory(place);
		else
			error = replace_file(place, text.bytes, text.length, &stat);
	}
	free(made);
	json_decref(document);
	json_edit_free(&text);
	return error < 0 ? error : 1;
}

int hooks_remove(const struct hooks_agent *agent, struct hooks_place *place)
{
	if (place->state == HOOKS_UNKNOWN)
		return -EEXIST;
	if (place->state == HOOKS_ABSENT)
		return 0;
	int done = agent->form == HOOKS_FILE ? remove_file(place) : remove_own(agent, place);
	if (done > 0)
		place->state = HOOKS_ABSENT;
	return done;
}
