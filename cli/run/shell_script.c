/* Shell scripts: see shell_script.h. */
#include "cli/run/shell_script.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/path/path.h"

enum { VARIABLES_MAX = 64, WORD_BYTES = PATH_MAX };

struct variable {
	const char *name;
	size_t length;
	char value[WORD_BYTES];
};

struct script {
	const char *path;
	struct variable *variables;
	int count;
};

/* A word that is read. */
struct word {
	char text[WORD_BYTES];
	size_t length;
	bool is_known;     /* all of what it stands for is */
	bool is_arguments; /* "$@", $* */
};

static void add(struct word *word, const char *text, size_t length)
{
	if (length >= sizeof(word->text) - word->length) {
		word->is_known = false;
		return;
	}
	memcpy(word->text + word->length, text, length);
	word->length += length;
	word->text[word->length] = '\0';
}

static void add_directory(const struct script *script, struct word *word)
{
	const char *base = path_base(script->path);

	if (!script->path[0])
		word->is_known = false;
	else if (base == script->path)
		add(word, ".", 1);
	else
		add(word, script->path, (size_t)(base - script->path) - (base - script->path > 1));
}

static bool is_name(char letter)
{
	return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
	       (letter >= '0' && letter <= '9') || letter == '_';
}

static void add_variable(const struct script *script, const char *name, size_t length,
			 struct word *word)
{
	char copy[128];

	for (int i = script->count - 1; i >= 0; i--)
		if (script->variables[i].length == length &&
		    memcmp(script->variables[i].name, name, length) == 0) {
			add(word, script->variables[i].value, strlen(script->variables[i].value));
			return;
		}
	const char *value = NULL;
	if (length > 0 && length < sizeof(copy)) {
		memcpy(copy, name, length);
		copy[length] = '\0';
		value = getenv(copy);
	}
	if (value)
		add(word, value, strlen(value));
	else
		word->is_known = false;
}

/* $(...), `at` behind its parenthesis: the directory of the script is all that is known of such.
 * Returns what follows. */
static const char *add_substitution(const struct script *script, const char *at, struct word *word)
{
	const char *begin = at;
	int depth = 1;

	for (; *at && depth; at++)
		depth += (*at == '(') - (*at == ')');
	const char *dirname = strstr(begin, "dirname");
	const char *base = strstr(begin, "basename");
	if (dirname && dirname < at)
		add_directory(script, word);
	else if (base && base < at && script->path[0])
		add(word, path_base(script->path), strlen(path_base(script->path)));
	else
		word->is_known = false;
	return at;
}

/* ${...}, `at` behind its brace. */
static const char *add_braced(const struct script *script, const char *at, struct word *word)
{
	size_t whole = strcspn(at, "}"), length = 0;

	while (length < whole && is_name(at[length]))
		length++;
	if (length == 1 && at[0] == '0' && strncmp(at, "0##*/}", 6) == 0)
		add(word, path_base(script->path), strlen(path_base(script->path)));
	else if (length == 1 && at[0] == '0' && strncmp(at, "0%/*}", 5) == 0)
		add_directory(script, word);
	else if (strncmp(at, "1+", 2) == 0 || at[0] == '@' || at[0] == '*')
		word->is_arguments = true;
	else if (length == whole)
		add_variable(script, at, length, word);
	else
		word->is_known = false;
	return at[whole] ? at + whole + 1 : at + whole;
}

/* A dollar sign, `at` behind it. */
static const char *add_dollar(const struct script *script, const char *at, struct word *word)
{
	size_t length = 0;

	if (*at == '@' || *at == '*') {
		word->is_arguments = true;
		return at + 1;
	}
	if (*at == '0') {
		if (script->path[0])
			add(word, script->path, strlen(script->path));
		else
			word->is_known = false;
		return at + 1;
	}
	if (*at == '{')
		return add_braced(script, at + 1, word);
	if (*at == '(')
		return add_substitution(script, at + 1, word);
	while (is_name(at[length]))
		length++;
	if (length)
		add_variable(script, at, length, word);
	else
		add(word, "$", 1);
	return at + length;
}

/* Reads a word.  Returns what follows it; NULL: the line ends, or another command begins. */
static const char *read_word(const struct script *script, const char *at, struct word *word)
{
	char quote = '\0';

	*word = (struct word){ .is_known = true };
	at += strspn(at, " \t");
	if (!*at || *at == '#' || strchr(";|&<>()", *at))
		return NULL;
	while (*at && (quote || !strchr(" \t;|&<>()", *at))) {
		if (*at == quote) {
			quote = '\0';
			at++;
		} else if (!quote && (*at == '"' || *at == '\'')) {
			quote = *at++;
		} else if (*at == '\\' && at[1] && quote != '\'') {
			add(word, at + 1, 1);
			at += 2;
		} else if (*at == '$' && quote != '\'') {
			at = add_dollar(script, at + 1, word);
		} else {
			word->is_known = word->is_known && *at != '`';
			add(word, at++, 1);
		}
	}
	return at;
}

/* NAME=VALUE: how long the name is; 0: it is none. */
static size_t name_length(const char *line)
{
	size_t length = 0;

	while (is_name(line[length]))
		length++;
	return length && line[length] == '=' ? length : 0;
}

/* Notes a variable that a line sets.  Returns whether it does nothing else. */
static bool note_variable(struct script *script, const char *line)
{
	static const char *const BEFORE[] = { "export ", "local ", "readonly ", "declare " };
	struct word word;

	for (size_t i = 0; i < sizeof(BEFORE) / sizeof(BEFORE[0]); i++)
		if (strncmp(line, BEFORE[i], strlen(BEFORE[i])) == 0)
			line += strlen(BEFORE[i]);
	size_t length = name_length(line);
	const char *rest = length ? line + length + 1 : NULL;
	if (!length)
		return false;
	const char *behind = *rest && !strchr(" \t;", *rest) ? read_word(script, rest, &word)
							     : rest;
	if (behind == rest)
		word = (struct word){ .is_known = true };
	if (!behind || behind[strspn(behind, " \t;")])
		return false; /* a command with a variable of its own */
	if (script->count < VARIABLES_MAX && word.is_known) {
		struct variable *variable = &script->variables[script->count++];
		variable->name = line;
		variable->length = length;
		memcpy(variable->value, word.text, word.length + 1);
	}
	return true;
}

void shell_script_free(char **words)
{
	for (int i = 0; i < SHELL_SCRIPT_WORDS && words[i]; i++) {
		free(words[i]);
		words[i] = NULL;
	}
}

/* What may stand in front of a command. */
static bool is_prefix(const char *word)
{
	static const char *const WORDS[] = { "exec", "command", "then",  "else", "elif", "if",
					     "do",   "while",   "until", "!",    "{" };

	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		if (strcmp(word, WORDS[i]) == 0)
			return true;
	return false;
}

/* 2>file: the number is no word. */
static bool is_redirection(const struct word *word, const char *behind)
{
	return (*behind == '<' || *behind == '>') &&
	       strspn(word->text, "0123456789") == word->length;
}

/* Reads a command.  ret_leads: it is one that the script leads to.  Returns -EINVAL where it is one
 * of which the name is not known. */
static int read_command(const struct script *script, const char *line, char **ret_words,
			bool *ret_leads)
{
	struct word word;
	bool is_known = true, has_arguments = false;
	int count = 0;

	*ret_leads = false;
	for (const char *at = line; (at = read_word(script, at, &word));) {
		if (is_redirection(&word, at))
			break;
		if (!count && is_prefix(word.text)) {
			*ret_leads = *ret_leads || strcmp(word.text, "exec") == 0;
			continue;
		}
		if (!count && word.text[0] == '-') { /* of exec */
			if (strcmp(word.text, "-a") == 0 && !(at = read_word(script, at, &word)))
				break;
			continue;
		}
		if (!count && name_length(word.text))
			continue; /* the command's own variable */
		if (word.is_arguments) {
			*ret_leads = has_arguments = true;
			continue;
		}
		is_known = is_known && (count || word.is_known);
		if (count == SHELL_SCRIPT_WORDS - 1)
			break;
		ret_words[count] = strdup(word.text);
		if (!ret_words[count])
			return -ENOMEM;
		ret_words[++count] = NULL;
	}
	if (!count)
		return has_arguments ? 0 : -ENOENT;
	return is_known ? 0 : -EINVAL;
}

/* Where a text of a shell is read: in quotes, in parentheses or braces behind a dollar sign. */
struct place {
	char quote;
	int depth;
};

/* Takes one character.  Returns whether it may end a command. */
static bool pass(struct place *place, const char *at)
{
	if (place->quote) {
		place->quote = *at == place->quote ? '\0' : place->quote;
		return false;
	}
	if (*at == '"' || *at == '\'')
		place->quote = *at;
	else if (*at == '$' && (at[1] == '(' || at[1] == '{'))
		place->depth++;
	else if (place->depth && (*at == ')' || *at == '}'))
		place->depth--;
	return !place->depth && (*at == ';' || *at == '|' || *at == '&');
}

/* Puts each command on a line of its own; takes comments and the ends of lines that go on away. */
static void separate_commands(char *text)
{
	struct place place = { .depth = 0 };

	for (char *at = text; *at; at++) {
		bool is_first = at == text || strchr(" \t\n", at[-1]);
		if (*at == '\\' && at[1]) {
			if (at[1] == '\n')
				at[0] = at[1] = ' ';
			at++;
		} else if (*at == '#' && is_first && !place.quote && !place.depth) {
			size_t length = strcspn(at, "\n");
			memset(at, ' ', length);
			at += length - 1;
		} else if (*at == '\n' && (place.quote || place.depth)) {
			*at = ' '; /* of a word */
		} else if (pass(&place, at) && (at == text || !strchr("<>", at[-1]))) {
			*at = '\n';
		}
	}
}

int shell_script_command(char *text, const char *path, char **ret_words)
{
	struct script script = { .path = path,
				 .variables = calloc(VARIABLES_MAX, sizeof(struct variable)) };
	char *words[SHELL_SCRIPT_WORDS] = { NULL };
	bool is_single = !strchr(text, '\n');
	int error = -ENOENT;
	char *rest = NULL;

	ret_words[0] = NULL;
	if (!script.variables)
		return -ENOMEM;
	separate_commands(text);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool leads;
		line += strspn(line, " \t");
		if (note_variable(&script, line))
			continue;
		int found = read_command(&script, line, words, &leads);
		leads = leads || is_single;
		if (found == -ENOMEM || (leads && found != -ENOENT)) {
			shell_script_free(ret_words);
			error = found == -EINVAL ? -ENOENT : found;
		}
		if (found == 0 && leads)
			memcpy(ret_words, words, sizeof(words));
		else
			shell_script_free(words);
		words[0] = NULL;
		if (found == -ENOMEM)
			break;
	}
	free(script.variables);
	return error;
}
