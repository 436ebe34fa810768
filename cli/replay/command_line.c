/* Command lines: see command_line.h. */
#include "cli/replay/command_line.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/path/path.h"

/* A line that is being taken apart. */
struct parser {
	const char *at;
	char *out; /* in line->text: the word being written */
	struct command_line *line;
	size_t first; /* word that the current command begins with */
	bool in_word, quoted;
};

static void finish_word(struct parser *parser)
{
	struct command_line *line = parser->line;

	if (!parser->in_word)
		return;
	*parser->out++ = '\0';
	parser->in_word = parser->quoted = false;
	if (line->word_count + 2 >= COMMAND_LINE_WORDS_MAX) {
		line->complex = true;
		return;
	}
	/* The next word begins where this one ended. */
	line->words[line->word_count + 1] = parser->out;
	line->word_count++;
}

static void append(struct parser *parser, char byte)
{
	parser->in_word = true;
	*parser->out++ = byte;
}

/* `cd DIR`: where what follows is run. */
static void change_directory(struct command_line *line, const char *target)
{
	char path[PATH_MAX];

	if (!target || target[0] == '-' || target[0] == '~' ||
	    path_normalize(line->directory, target, path, sizeof(path)) < 0) {
		free(line->directory);
		line->directory = NULL;
		return;
	}
	char *copy = strdup(path);
	free(line->directory);
	line->directory = copy;
}

static bool is_keyword(const char *word)
{
	static const char *const KEYWORDS[] = { "if",     "then",  "else",     "elif",   "fi",
						"for",    "while", "until",    "do",     "done",
						"case",   "esac",  "in",       "time",   "!",
						"[[",     "{",     "}",        "eval",   "exec",
						"source", ".",     "function", "select", "coproc",
						"export", "set",   "alias" };
	for (size_t i = 0; i < sizeof(KEYWORDS) / sizeof(KEYWORDS[0]); i++)
		if (strcmp(word, KEYWORDS[i]) == 0)
			return true;
	return false;
}

static void finish_command(struct parser *parser)
{
	struct command_line *line = parser->line;

	finish_word(parser);
	char **argv = &line->words[parser->first];
	size_t count = line->word_count - parser->first;
	if (count == 0 || line->complex)
		return;
	char *next = line->words[line->word_count]; /* where the next word begins */
	argv[count] = NULL;
	line->words[++line->word_count] = next;
	parser->first = line->word_count;
	/* NAME=value before a program changes what it does. */
	if (is_keyword(argv[0]) || strchr(argv[0], '=')) {
		line->complex = true;
	} else if (strcmp(argv[0], "cd") == 0 && count <= 2) {
		change_directory(line, argv[1]);
	} else if (line->count == COMMAND_LINE_COMMANDS_MAX) {
		line->complex = true;
	} else {
		line->commands[line->count++] = argv;
	}
}

static void quoted_word(struct parser *parser, char quote)
{
	parser->in_word = parser->quoted = true;
	for (parser->at++; *parser->at && *parser->at != quote; parser->at++) {
		if (quote == '"' && (*parser->at == '$' || *parser->at == '`'))
			parser->line->complex = true;
		if (quote == '"' && *parser->at == '\\' && parser->at[1] &&
		    strchr("\"\\$`\n", parser->at[1]))
			parser->at++;
		append(parser, *parser->at);
	}
	if (!*parser->at) {
		parser->line->complex = true;
		return;
	}
	parser->at++;
}

/* What changes nothing of what reaches the reader of standard output: 2>/dev/null, 2>&1.  Passes
 * over it. */
static bool is_harmless_redirection(struct parser *parser)
{
	static const char *const HARMLESS[] = { "2>/dev/null", "2> /dev/null", "2>&1" };

	for (size_t i = 0; i < sizeof(HARMLESS) / sizeof(HARMLESS[0]); i++) {
		size_t length = strlen(HARMLESS[i]);
		if (strncmp(parser->at, HARMLESS[i], length) == 0 &&
		    (parser->at[length] == '\0' || strchr(" \t\n;&", parser->at[length]))) {
			parser->at += length;
			return true;
		}
	}
	return false;
}

static void parse(struct parser *parser)
{
	struct command_line *line = parser->line;

	while (*parser->at && !line->complex) {
		char byte = *parser->at;
		if (!parser->in_word && byte == '2' && is_harmless_redirection(parser))
			continue;
		if (byte == '\'' || byte == '"') {
			quoted_word(parser, byte);
			continue;
		}
		if (byte == '\\' && parser->at[1]) {
			parser->at++;
			if (*parser->at != '\n') {
				append(parser, *parser->at);
				parser->quoted = true;
			}
		} else if (byte == ' ' || byte == '\t' || byte == '\r') {
			finish_word(parser);
		} else if (byte == ';' || byte == '\n') {
			finish_command(parser);
		} else if (byte == '&' && parser->at[1] == '&') {
			parser->at++;
			finish_command(parser);
		} else if (strchr("|&<>()`$~", byte) || (byte == '#' && !parser->in_word)) {
			line->complex = true;
		} else {
			line->globs = line->globs || strchr("*?[{", byte) != NULL;
			append(parser, byte);
		}
		parser->at++;
	}
	finish_command(parser);
}

int command_line_parse(const char *line, const char *directory, struct command_line *ret_line)
{
	size_t length = strlen(line);
	struct parser parser = { .at = line, .line = ret_line };

	*ret_line = (struct command_line){ .complex = false };
	/* Each word gets a NUL where it has a separator behind it. */
	ret_line->text = malloc(length + 2);
	ret_line->words = calloc(COMMAND_LINE_WORDS_MAX + COMMAND_LINE_COMMANDS_MAX,
				 sizeof(*ret_line->words));
	if (directory)
		ret_line->directory = strdup(directory);
	if (!ret_line->text || !ret_line->words || (directory && !ret_line->directory))
		return -ENOMEM;
	parser.out = ret_line->text;
	ret_line->words[0] = parser.out;
	parse(&parser);
	return 0;
}

void command_line_free(struct command_line *line)
{
	free(line->text);
	free(line->words);
	free(line->directory);
	*line = (struct command_line){ .complex = true };
}
