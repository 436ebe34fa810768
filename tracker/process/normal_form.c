/* Normal forms: see normal_form.h. */
#include "tracker/process/normal_form.h"

#include <string.h>

#include "tracker/process/normal_find.h"
#include "tracker/process/normal_words.h"

enum kind { FLAG, IGNORED, VALUE, NUMBER, OPTIONAL, LIST, PATTERN };

/* An option of a program, from normal_form.def.  Without a pointer: each would be relocated in every
 * process. */
struct option {
	char program[11];
	unsigned char letter, kind, group;
	char name[25];
	char normal[6]; /* the value that is the same as none */
};

/* A word that stands for others. */
struct same {
	char program[11], word[31], letters[4];
};

static const struct option OPTIONS[] = {
#define OPTION(program, letter, name, kind, group, normal) \
	{ program, letter, kind, group, name, normal },
#define SAME(program, word, letters)
#include "tracker/process/normal_form.def"
#undef OPTION
#undef SAME
};

static const struct same SAMES[] = {
#define OPTION(program, letter, name, kind, group, normal)
#define SAME(program, word, letters) { program, word, letters },
#include "tracker/process/normal_form.def"
#undef OPTION
#undef SAME
};

enum {
	GIT_FORMS_FIRST = 14, /* --stat and its like in the table */
	GIT_FORMS_LAST = 18,
};

enum { LETTERS = 128, GROUPS = 10, LISTED_MAX = 32, OPERANDS_MAX = 128 };

/* A command that is taken apart. */
struct form {
	const char *program;
	const struct normal_facts *facts;
	bool given[LETTERS];
	const char *values[LETTERS];
	unsigned char groups[GROUPS]; /* the letter of a group that was given; 0: none */
	struct {
		unsigned char letter;
		const char *value;
	} listed[LISTED_MAX];
	unsigned listed_count;
	const char *patterns[LISTED_MAX];
	unsigned pattern_count;
	const char *operands[OPERANDS_MAX];
	unsigned operand_count;
	bool is_git;
	char *const *words; /* of git: as they were given, behind the command's name */
	bool is_late;       /* an option stands behind an operand: git refuses some there */
};

static const struct option *option_of(const struct form *form, unsigned char letter)
{
	for (size_t i = 0; i < sizeof(OPTIONS) / sizeof(OPTIONS[0]); i++)
		if (OPTIONS[i].letter == letter && strcmp(OPTIONS[i].program, form->program) == 0)
			return &OPTIONS[i];
	return NULL;
}

static const struct option *option_named(const struct form *form, const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(OPTIONS) / sizeof(OPTIONS[0]); i++)
		if (length && strlen(OPTIONS[i].name) == length &&
		    strncmp(OPTIONS[i].name, name, length) == 0 &&
		    strcmp(OPTIONS[i].program, form->program) == 0)
			return &OPTIONS[i];
	return NULL;
}

/* A value in its own normal form; NULL: it has none. */
static const char *normal_value(const struct form *form, const struct option *option,
				const char *value)
{
	if (option->kind != NUMBER)
		return value;
	/* tail(1): `-n -5` is `-n 5`.  head(1): it is another thing.  What has a suffix stays. */
	if (strcmp(form->program, "tail") == 0 && value[0] == '-')
		value++;
	const char *digits = normal_digits(value);
	return digits ? digits : value;
}

static bool add_value(struct form *form, const struct option *option, const char *value)
{
	const char **known = &form->values[option->letter];

	if (option->kind == LIST) {
		if (form->listed_count == LISTED_MAX)
			return false;
		form->listed[form->listed_count].letter = option->letter;
		form->listed[form->listed_count++].value = value;
		return true;
	}
	if (option->kind == PATTERN) {
		if (form->pattern_count == LISTED_MAX)
			return false;
		form->patterns[form->pattern_count++] = value;
		return true;
	}
	value = normal_value(form, option, value);
	if (*known && strcmp(*known, value) != 0)
		return false;
	*known = value;
	return true;
}

static bool add(struct form *form, const struct option *option, const char *value)
{
	unsigned char *other = &form->groups[option->group];

	if (option->group) {
		if (*other && *other != option->letter)
			return false;
		*other = option->letter;
	}
	if (option->kind == IGNORED)
		return true;
	if (option->kind == FLAG) {
		/* `git log --reverse --reverse` is not reversed. */
		if (form->is_git && form->given[option->letter])
			return false;
		form->given[option->letter] = true;
		return true;
	}
	return add_value(form, option, value);
}

static bool needs_value(const struct option *option)
{
	return option->kind != FLAG && option->kind != IGNORED && option->kind != OPTIONAL;
}

/* A word that stands for others.  Returns whether it is one; ret_added: they were added. */
static bool add_same(struct form *form, const char *word, bool *ret_added)
{
	const struct same *same = NULL;

	for (size_t i = 0; i < sizeof(SAMES) / sizeof(SAMES[0]) && !same; i++)
		if (strcmp(SAMES[i].word, word) == 0 &&
		    strcmp(SAMES[i].program, form->program) == 0)
			same = &SAMES[i];
	*ret_added = same != NULL;
	for (const char *at = same ? same->letters : ""; *at && *ret_added; at++) {
		const struct option *option = option_of(form, (unsigned char)*at);
		*ret_added = option && add(form, option, NULL);
	}
	return same != NULL;
}

/* A long option; its value is in its word or in the next one. */
static bool add_long(struct form *form, const char *word, char *const **at)
{
	size_t length = strcspn(word + 2, "=");
	const char *value = word[2 + length] ? word + 2 + length + 1 : NULL;
	bool added;

	if (add_same(form, word, &added))
		return added;
	const struct option *option = option_named(form, word + 2, length);
	if (!option)
		return false;
	if (option->kind == OPTIONAL)
		return add(form, option, value ? value : "");
	if (!needs_value(option))
		return !value && add(form, option, NULL);
	if (!value)
		value = *++*at;
	return value && add(form, option, value);
}

/* Letters behind one dash. */
static bool add_letters(struct form *form, const char *word, char *const **at)
{
	const struct option *first = option_of(form, (unsigned char)word[1]);

	/* git's commands take a letter for a word, but for status. */
	if (form->is_git && strcmp(form->program, "git-status") != 0 && word[2] &&
	    !(first && needs_value(first)))
		return false;
	for (const char *letter = word + 1; *letter; letter++) {
		const char dashed[] = { '-', *letter, '\0' };
		bool added;
		if ((unsigned char)*letter < ' ' || (unsigned char)*letter >= LETTERS)
			return false;
		if (add_same(form, dashed, &added)) {
			if (!added)
				return false;
			continue;
		}
		const struct option *option = option_of(form, (unsigned char)*letter);
		if (!option)
			return false;
		if (needs_value(option)) {
			const char *value = letter[1] ? letter + 1 : *++*at;
			return value && add(form, option, value);
		}
		if (!add(form, option, NULL))
			return false;
	}
	return true;
}

/* `-5`: grep's context; lines of head and tail, in their first word; in tail's nothing but a file
 * follows.  Letters to others. */
static bool add_number(struct form *form, char *const argv[], char *const **at)
{
	bool is_grep = strcmp(form->program, "grep") == 0;
	bool is_tail = strcmp(form->program, "tail") == 0;

	if (strcmp(form->program, "git-log") == 0)
		return add(form, option_of(form, 'n'), **at + 1);
	if (!is_grep && !is_tail && strcmp(form->program, "head") != 0)
		return add_letters(form, **at, at);
	const char *next = (*at)[1];
	if (!is_grep && *at != argv + 1)
		return false;
	if (is_tail && !(next && next[0] != '-' && !(*at)[2]))
		return false;
	/* Digits of several words make one number. */
	const struct option *option = option_of(form, is_grep ? 'C' : 'n');
	return !(is_grep && form->values['C']) && add(form, option, **at + 1);
}

static bool parse(struct form *form, char *const argv[])
{
	bool ended = false;

	for (char *const *at = argv + 1; *at; at++) {
		const char *word = *at;
		bool added;
		if (ended || word[0] != '-' || !word[1]) {
			if (form->operand_count == OPERANDS_MAX || strcmp(word, "-") == 0)
				return false;
			form->operands[form->operand_count++] = word;
			continue;
		}
		ended = strcmp(word, "--") == 0;
		/* git takes for a revision what stands before it, where it is one. */
		if (ended && form->is_git) {
			if (form->operand_count == OPERANDS_MAX)
				return false;
			form->operands[form->operand_count++] = word;
		}
		if (ended)
			continue;
		form->is_late = form->is_late || form->operand_count;
		if (word[1] == '-')
			added = add_long(form, word, &at);
		else if (normal_digits(word + 1))
			added = add_number(form, argv, &at);
		else
			added = add_letters(form, word, &at);
		if (!added)
			return false;
	}
	return true;
}

/* ---- writing ---- */

static void write_options(const struct form *form, struct normal_words *words)
{
	for (unsigned letter = 1; letter < LETTERS; letter++) {
		const char text[] = { '-', (char)letter };
		const char *value = form->values[letter];
		if (form->given[letter]) {
			normal_words_add(words, text, sizeof(text));
			normal_words_finish(words);
		}
		if (!value)
			continue;
		const struct option *option = option_of(form, (unsigned char)letter);
		if (option->normal[0] && strcmp(option->normal, value) == 0)
			continue;
		normal_words_add(words, text, sizeof(text));
		normal_words_add(words, "=", 1);
		normal_words_write(words, value);
	}
	for (unsigned i = 0; i < form->listed_count; i++) {
		const char text[] = { '+', (char)form->listed[i].letter };
		normal_words_add(words, text, sizeof(text));
		normal_words_write(words, form->listed[i].value);
	}
}

static void write_operands(const struct form *form, bool by_path, struct normal_words *words)
{
	normal_words_write(words, "--");
	for (unsigned i = 0; i < form->operand_count; i++) {
		if (by_path)
			normal_words_path(words, form->operands[i]);
		else
			normal_words_write(words, form->operands[i]);
	}
}

/* A directory's name without the slashes at its end. */
static void write_directory(const char *path, struct normal_words *words)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	normal_words_add(words, path, length);
	normal_words_finish(words);
}

static bool is_directory(const struct form *form, const char *path)
{
	struct normal_words words = { .bytes = (char[4096]){ 0 }, .capacity = 4096 };

	if (!form->facts->is_directory)
		return false;
	/* With a slash at its end a link would be what it leads to. */
	write_directory(path, &words);
	return !words.overflow && form->facts->is_directory(words.bytes);
}

/* ---- programs ---- */

static void first_is_pattern(struct form *form)
{
	if (form->pattern_count || !form->operand_count)
		return;
	form->patterns[form->pattern_count++] = form->operands[0];
	form->operand_count--;
	memmove(form->operands, form->operands + 1,
		form->operand_count * sizeof(form->operands[0]));
}

static void write_grep(struct form *form, struct normal_words *words)
{
	const bool *given = form->given;
	bool is_recursive = given['r'] || given['R'];
	bool is_only = form->operand_count == 1 && !is_recursive;

	/* -A and -B count before -C, in any order. */
	if (form->values['C']) {
		if (!form->values['A'])
			form->values['A'] = form->values['C'];
		if (!form->values['B'])
			form->values['B'] = form->values['C'];
		form->values['C'] = NULL;
	}
	/* --exclude-dir=src leaves out src, and not src/. */
	bool has_file = false, leaves_out = false;
	for (unsigned i = 0; i < form->listed_count; i++) {
		has_file = has_file || form->listed[i].letter == 'f';
		leaves_out = leaves_out || form->listed[i].letter == 5;
	}
	if (!has_file)
		first_is_pattern(form);
	is_only = form->operand_count == 1 && !is_recursive;
	write_options(form, words);
	normal_words_write(words, "-e");
	for (unsigned i = 0; i < form->pattern_count; i++) {
		normal_words_add(words, "\n", i ? 1 : 0);
		normal_words_add(words, form->patterns[i], strlen(form->patterns[i]));
	}
	normal_words_finish(words);
	/* Is its name in no line?  Not in "binary file matches" either. */
	bool is_unnamed = is_only && !given['H'] && !given['l'] && !given['L'] &&
			  form->facts->is_text && form->facts->is_text(form->operands[0]);
	if (!is_recursive || form->operand_count == 0) {
		write_operands(form, is_unnamed, words);
		return;
	}
	normal_words_write(words, "--");
	for (unsigned i = 0; i < form->operand_count; i++) {
		if (!leaves_out && is_directory(form, form->operands[i]))
			write_directory(form->operands[i], words);
		else
			normal_words_write(words, form->operands[i]);
	}
}

/* Addresses, digits or `$`, and p; blanks where sed(1) allows them. */
static bool write_script(const char *at, struct normal_words *words)
{
	static const char BLANKS[] = " \t";

	while (*at) {
		at += strspn(at, "; \t");
		if (!*at)
			break;
		for (int i = 0; i < 2 && *at != 'p'; i++) {
			size_t length = *at == '$' ? 1 : strspn(at, "0123456789");
			if (!length)
				return false;
			normal_words_add(words, at, length);
			at += length;
			at += strspn(at, BLANKS);
			if (*at != ',' || i)
				break;
			normal_words_add(words, ",", 1);
			at++;
			at += strspn(at, BLANKS);
			if (*at == 'p')
				return false;
		}
		if (*at != 'p')
			return false;
		normal_words_add(words, "p;", 2);
		at++;
		at += strspn(at, BLANKS);
		if (*at && *at != ';')
			return false;
	}
	return true;
}

static bool write_sed(struct form *form, struct normal_words *words)
{
	bool is_plain = true;

	first_is_pattern(form);
	write_options(form, words);
	for (unsigned i = 0; i < form->pattern_count && is_plain; i++)
		is_plain = write_script(form->patterns[i], words);
	normal_words_finish(words);
	write_operands(form, true, words);
	return is_plain;
}

static bool write_ls(struct form *form, struct normal_words *words)
{
	bool *given = form->given;
	bool is_grid = given['C'] || given['m'] || given['x'];
	bool is_long = given['l'] || given['g'] || given['n'] || given['o'] || given[6];

	if (is_grid && (is_long || given['1']))
		return false;
	given['l'] = is_long;
	/* The long format counts before -1, in any order; where the output is no terminal -1 is the
	 * default. */
	given['1'] = given['1'] && !is_long && form->facts->is_terminal;
	if (!form->operand_count)
		form->operands[form->operand_count++] = ".";
	write_options(form, words);
	if (form->operand_count == 1 && !given['d'] && !given['R'] &&
	    is_directory(form, form->operands[0])) {
		/* Its content is listed, and its name is not. */
		struct normal_words path = { .bytes = (char[4096]){ 0 }, .capacity = 4096 };
		write_directory(form->operands[0], &path);
		if (path.overflow)
			return false;
		normal_words_write(words, "--");
		normal_words_path(words, path.bytes);
		return true;
	}
	write_operands(form, false, words);
	return true;
}

static bool write_form(struct form *form, struct normal_words *words)
{
	const char *program = form->program;
	bool *given = form->given;

	if (form->is_git) {
		/* Which of -s and another form of output counts hangs on their order. */
		bool is_silent = given['s'] && strcmp(program, "git-status") != 0;
		for (unsigned other = GIT_FORMS_FIRST; is_silent && other <= GIT_FORMS_LAST;
		     other++)
			if (given[other])
				return false;
		if (form->is_late) {
			normal_words_write(words, "as given");
			for (char *const *at = form->words; *at; at++)
				normal_words_write(words, *at);
			return true;
		}
		write_options(form, words);
		write_operands(form, false, words);
		return true;
	}
	if (strcmp(program, "grep") == 0) {
		write_grep(form, words);
		return true;
	}
	if (strcmp(program, "sed") == 0)
		return write_sed(form, words);
	if (strcmp(program, "ls") == 0)
		return write_ls(form, words);
	if (strcmp(program, "wc") == 0) {
		bool is_default = given['l'] && given['w'] && given['c'] && !given['m'] &&
				  !given['L'];
		if (is_default)
			given['l'] = given['w'] = given['c'] = false;
	} else if (strcmp(program, "cat") == 0) {
		given['n'] = given['n'] && !given['b']; /* in any order */
	}
	write_options(form, words);
	/* head(1) and tail(1) print the names of several files. */
	write_operands(form,
		       strcmp(program, "cat") == 0 ||
			       (program[0] != 'w' && form->operand_count == 1 && !given['v']),
		       words);
	return true;
}

/* ---- the whole ---- */

const char *normal_form_package(const char *name)
{
	static const char PACKAGES[][2][24] = {
		{ "cat", "GNU coreutils" },  { "git", "GIT_EXEC_PATH" },
		{ "find", "GNU findutils" }, { "grep", "GNU grep" },
		{ "head", "GNU coreutils" }, { "ls", "GNU coreutils" },
		{ "sed", "GNU sed" },        { "tail", "GNU coreutils" },
		{ "wc", "GNU coreutils" },
	};
	for (size_t i = 0; i < sizeof(PACKAGES) / sizeof(PACKAGES[0]); i++)
		if (strcmp(PACKAGES[i][0], name) == 0)
			return PACKAGES[i][1];
	return NULL;
}

bool normal_form_applies(char *const environment[])
{
	static const char NAMES[][17] = { "POSIXLY_CORRECT", "_POSIX2_VERSION=", "GREP_OPTIONS=" };

	for (size_t i = 0; environment && environment[i]; i++)
		for (size_t k = 0; k < sizeof(NAMES) / sizeof(NAMES[0]); k++)
			if (strncmp(environment[i], NAMES[k], strlen(NAMES[k])) == 0)
				return false;
	return true;
}

/* A command of git's that reads; its options follow.  NULL: it is none. */
static char *const *git_command(char *const argv[], const char **ret_program)
{
	static const char PROGRAMS[][11] = { "git-status", "git-diff", "git-log", "git-show" };
	char *const *at = argv + 1;

	/* Without a terminal it starts none. */
	while (*at && (strcmp(*at, "--no-pager") == 0 || strcmp(*at, "-P") == 0))
		at++;
	for (size_t i = 0; *at && i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++)
		if (strcmp(PROGRAMS[i] + 4, *at) == 0) {
			*ret_program = PROGRAMS[i];
			return at;
		}
	return NULL;
}

/* No revision that today has to do with: `@{yesterday}`. */
static bool names_times(char *const argv[])
{
	for (; *argv; argv++)
		if (strstr(*argv, "@{"))
			return true;
	return false;
}

size_t normal_form(const char *name, char *const argv[], const struct normal_facts *facts,
		   char *ret_form, size_t capacity)
{
	struct normal_words words = { .bytes = ret_form, .capacity = capacity };
	struct form form = { .program = name, .facts = facts };
	bool has_form;

	if (!normal_form_package(name) || !argv[0])
		return 0;
	form.is_git = strcmp(name, "git") == 0;
	if (form.is_git) {
		argv = git_command(argv, &form.program);
		if (!argv || facts->is_terminal || names_times(argv))
			return 0;
		form.words = argv + 1;
	}
	normal_words_write(&words, form.program);
	if (strcmp(name, "find") == 0)
		has_form = normal_find(argv, &words);
	else
		has_form = parse(&form, argv) && write_form(&form, &words);
	return has_form && !words.overflow ? words.length : 0;
}
