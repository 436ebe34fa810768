/*
 * Normal forms against the real programs.
 *
 *	normal_forms [PAIRS [SEED [PROGRAM]]]	default: 1500 1; with SEEN_LONG 100000 1
 *
 * PROGRAM: pairs of it alone, as the table names it (`git-log`), or `find` or `rg`.
 *
 * A command is made of random options of tracker/process/normal_form.def and of random words of a
 * random tree, and written in several random ways: in another order, with long names, with values
 * and defaults in every way, with paths that lead to the same file.  The ways know nothing of the
 * normal form: many of them do print something else.  Each two ways with one form are run, and one
 * that ends well has to print, byte for byte, what the other does.  Each line of the table that
 * belongs to a program which is installed has to occur in such a pair.
 *
 * rg has no normal form.  Its pairs are one command, run twice, which search_order.h says prints in one order; or
 * in an order of chance, but by one write(2) for each file: then what came by one is printed the second time too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/random_ways.h"
#include "tests/support/support.h"
#include "tracker/content/version.h"
#include "tracker/process/normal_form.h"
#include "tracker/process/search_order.h"

enum kind { FLAG, IGNORED, VALUE, NUMBER, OPTIONAL, LIST, PATTERN, SAMES };

/* A line of the table. */
struct row {
	const char *program;
	unsigned char letter;
	const char *name; /* of a SAME: its word */
	enum kind kind;
	const char *normal; /* of a SAME: its letters */
};

static const struct row ROWS[] = {
#define OPTION(program, letter, name, kind, group, normal) { program, letter, name, kind, normal },
#define SAME(program, word, letters) { program, 0, word, SAMES, letters },
#include "tracker/process/normal_form.def"
#undef OPTION
#undef SAME
};

enum {
	ROW_COUNT = sizeof(ROWS) / sizeof(ROWS[0]),
	CHOSEN_MAX = 8,
};

static const char *only; /* the program whose pairs are made; NULL: of all */
static uint64_t met[ROW_COUNT], pairs, equal_outputs, unclean, bad;

/* ---- a command ---- */

struct chosen {
	unsigned row;
	char value[WORD_BYTES];
};

struct command {
	const char *program;
	struct chosen chosen[CHOSEN_MAX];
	unsigned chosen_count;
	char pattern[WORD_BYTES];
	char operands[4][WORD_BYTES];
	unsigned operand_count;
};

static const char *any_pattern(void)
{
	static const char *const PATTERNS[] = { "pat", "line", "^",        "a.c",  "p\\|l",   "p|l",
						"PAT", "x*",   "\xc3\xa9", "foo$", "pat\nfoo" };
	return PATTERNS[below(sizeof(PATTERNS) / sizeof(PATTERNS[0]))];
}

static void any_value(const struct row *row, char *ret)
{
	static const char *const STYLES[] = { "full-iso", "long-iso", "iso", "+%Y" };
	static const char *const SIZES[] = { "1", "K", "1024", "human-readable" };
	static const char *const WHENS[] = { "never", "always", "auto" };
	static const char *const SIGNS[] = { "", "", "", "0", "-", "+" };
	bool lines = strcmp(row->program, "head") == 0 || strcmp(row->program, "tail") == 0;
	const char *text = any_glob();

	if (row->kind == NUMBER) {
		(void)snprintf(ret, WORD_BYTES, "%s%u", lines ? SIGNS[below(6)] : "",
			       chance(20) ? 10 : below(15));
		return;
	}
	if (row->kind == PATTERN)
		text = any_pattern();
	else if (row->kind == OPTIONAL)
		text = WHENS[below(3)];
	else if (row->kind == VALUE)
		text = row->letter == 2 ? SIZES[below(4)] : STYLES[below(4)];
	else if (row->letter == 'f')
		text = paths[below(path_count)];
	(void)snprintf(ret, WORD_BYTES, "%s", text);
}

static void any_script(char *ret)
{
	static const char *const SCRIPTS[] = {
		"1,5p",     "1, 5p", "1 ,5 p", "3p;5p", "3p; 5p ;", "p",     "$p",  "2,$p",
		" 2 , $ p", "1,5p;", "1 0p",   "10p",   "5,2p",     "1p 2p", "p p",
	};
	(void)snprintf(ret, WORD_BYTES, "%s", SCRIPTS[below(sizeof(SCRIPTS) / sizeof(SCRIPTS[0]))]);
}

static const char *any_revision(void)
{
	static const char *const REVISIONS[] = { "HEAD", "HEAD~1", "main", "HEAD~1..HEAD", "one" };
	return REVISIONS[below(5)];
}

static void any_command(struct command *command)
{
	unsigned first = below(ROW_COUNT);

	/* Lines that were in no pair yet come first. */
	for (unsigned i = 0; i < ROW_COUNT && met[first]; i++)
		first = (first + 1) % ROW_COUNT;
	if (chance(30))
		first = below(ROW_COUNT);
	while (only && strcmp(ROWS[first].program, only) != 0)
		first = below(ROW_COUNT);
	*command = (struct command){ .program = ROWS[first].program };
	unsigned count = 1 + below(5);
	for (unsigned i = 0; i < count; i++) {
		unsigned row = i ? below(ROW_COUNT) : first;
		for (unsigned tries = 0;
		     tries < 400 && strcmp(ROWS[row].program, command->program) != 0; tries++)
			row = below(ROW_COUNT);
		if (strcmp(ROWS[row].program, command->program) != 0)
			continue;
		struct chosen *chosen = &command->chosen[command->chosen_count++];
		chosen->row = row;
		any_value(&ROWS[row], chosen->value);
		if (strcmp(command->program, "sed") == 0)
			any_script(chosen->value);
	}
	(void)snprintf(command->pattern, WORD_BYTES, "%s", any_pattern());
	if (strcmp(command->program, "sed") == 0)
		any_script(command->pattern);
	command->operand_count = chance(70) ? 1 : below(4);
	for (unsigned i = 0; i < command->operand_count; i++)
		(void)snprintf(command->operands[i], WORD_BYTES, "%s",
			       strncmp(command->program, "git-", 4) == 0 && chance(40)
				       ? any_revision()
				       : paths[below(path_count)]);
}

static bool has_short(const struct row *row)
{
	return row->kind == SAMES ? row->name[0] == '-' && row->name[1] != '-' : row->letter >= ' ';
}

/* Letters behind the word before, where that is one of letters. */
static void add_letters(struct way *way, const char *letters, bool *is_open)
{
	if (*is_open && chance(40)) {
		char *last = way->text[way->count - 1];
		(void)snprintf(last + strlen(last), WORD_BYTES, "%s", letters);
	} else {
		(void)snprintf(new_word(way), WORD_BYTES, "-%s", letters);
	}
	*is_open = true;
}

static void add_option(struct way *way, const struct row *row, const char *value, bool *is_open)
{
	const char letter[] = { (char)row->letter, '\0' };
	bool takes = row->kind == VALUE || row->kind == NUMBER || row->kind == LIST ||
		     row->kind == PATTERN;

	if (row->kind == SAMES) {
		if (chance(50))
			add_letters(way, row->normal, is_open);
		else if (has_short(row))
			add_letters(way, row->name + 1, is_open);
		else {
			add_word(way, row->name);
			*is_open = false;
		}
		return;
	}
	if (has_short(row) && (!row->name[0] || chance(60))) {
		add_letters(way, letter, is_open);
		if (takes && chance(50) && *value)
			(void)snprintf(way->text[way->count - 1] +
					       strlen(way->text[way->count - 1]),
				       WORD_BYTES, "%s", value);
		else if (takes)
			add_word(way, value);
		*is_open = *is_open && !takes;
		return;
	}
	*is_open = false;
	if (row->kind == OPTIONAL && chance(20))
		(void)snprintf(new_word(way), WORD_BYTES, "--%s", row->name);
	else if (takes && chance(50)) {
		(void)snprintf(new_word(way), WORD_BYTES, "--%s", row->name);
		add_word(way, value);
	} else {
		(void)snprintf(new_word(way), 2 * WORD_BYTES, "--%s%s%s", row->name,
			       takes || row->kind == OPTIONAL ? "=" : "",
			       takes || row->kind == OPTIONAL ? value : "");
	}
}

/* What is the default, or does the same as something else, in the words of some programs. */
static void add_besides(struct way *way, const struct command *command)
{
	const char *program = command->program;

	if (!chance(30))
		return;
	if (strcmp(program, "grep") == 0)
		add_word(way, chance(30) ? "-2" : chance(50) ? "--color=never" : "-G");
	else if (strcmp(program, "head") == 0 || strcmp(program, "tail") == 0)
		add_word(way, chance(50) ? "-n10" : chance(50) ? "-3" : "-n3");
	else if (strcmp(program, "wc") == 0)
		add_word(way, "-clw");
	else if (strcmp(program, "ls") == 0)
		add_word(way, chance(50) ? "-1" : "--color=never");
	else if (strcmp(program, "cat") == 0)
		add_word(way, "-u");
}

static void write_way(const struct command *command, struct way *way)
{
	bool has_pattern = strcmp(command->program, "grep") == 0 ||
			   strcmp(command->program, "sed") == 0;
	unsigned order[CHOSEN_MAX], next = 0, operands = 0;
	bool is_open = false, early = chance(30), changed = chance(15);

	way->count = way->row_count = 0;
	if (strncmp(command->program, "git-", 4) == 0) {
		add_word(way, "git");
		if (chance(20))
			add_word(way, chance(50) ? "--no-pager" : "-P");
		add_word(way, command->program + 4);
	} else {
		add_word(way, command->program);
	}
	if (chance(50))
		add_besides(way, command);
	for (unsigned i = 0; i < command->chosen_count; i++)
		order[i] = i;
	for (unsigned i = command->chosen_count; i > 1; i--) {
		unsigned with = below(i), other = order[i - 1];
		order[i - 1] = order[with];
		order[with] = other;
	}
	for (unsigned i = 0; i < command->chosen_count; i++)
		has_pattern = has_pattern && ROWS[command->chosen[i].row].kind != PATTERN &&
			      ROWS[command->chosen[i].row].letter != 'f';
	for (next = 0; next < command->chosen_count; next++) {
		const struct chosen *chosen = &command->chosen[order[next]];
		char value[WORD_BYTES];
		(void)snprintf(value, sizeof(value), "%s", chosen->value);
		if (changed && chance(30))
			any_value(&ROWS[chosen->row], value);
		if (changed && chance(30))
			continue;
		add_option(way, &ROWS[chosen->row], value, &is_open);
		way->rows[way->row_count++] = chosen->row;
		if (chance(5))
			add_option(way, &ROWS[chosen->row], value, &is_open);
		if (early && has_pattern && chance(40)) {
			add_word(way, command->pattern);
			has_pattern = is_open = false;
		} else if (early && !has_pattern && operands < command->operand_count &&
			   command->operands[operands][0] != '-' && chance(40)) {
			any_way(command->operands[operands++], new_word(way));
			is_open = false;
		}
	}
	if (chance(30)) {
		add_besides(way, command);
		is_open = false;
	}
	if (has_pattern && chance(30)) {
		add_word(way, chance(50)                             ? "-e"
			      : strcmp(command->program, "sed") == 0 ? "--expression"
								     : "--regexp");
		add_word(way, command->pattern);
		has_pattern = false;
	}
	if (chance(20))
		add_word(way, "--");
	if (has_pattern)
		add_word(way, command->pattern);
	while (operands < command->operand_count)
		any_way(command->operands[operands++], new_word(way));
}

/* ---- what they print ---- */

struct printed {
	bool is_known, is_clean;
	int status;
	unsigned writes; /* of a search */
	struct version version;
};

static char *environment[8];

static void any_environment(void)
{
	static char *const EXTRA[] = {
		(char *)"LC_ALL=C.UTF-8",
		(char *)"LC_ALL=C",
		(char *)"LS_COLORS=di=01;34",
		(char *)"COLUMNS=40",
		(char *)"TIME_STYLE=iso",
		(char *)"QUOTING_STYLE=c",
		(char *)"BLOCK_SIZE=1",
		(char *)"GREP_COLORS=mt=7",
		(char *)"TERM=xterm",
		(char *)"GREP_COLOR=7",
		(char *)"LS_BLOCK_SIZE=human-readable",
	};
	unsigned count = 0;

	environment[count++] = (char *)"PATH=/usr/bin:/bin";
	for (unsigned i = below(4); i; i--)
		environment[count++] = EXTRA[below(sizeof(EXTRA) / sizeof(EXTRA[0]))];
	environment[count] = NULL;
}

static pid_t start(const struct way *way, int out, int err)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	must(posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, out, 1) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, err, 2) == 0);
	must(posix_spawnp(&pid, way->argv[0], &actions, NULL, way->argv, environment) == 0);
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void finish(pid_t pid, int err, struct printed *ret)
{
	struct stat stat_buffer;

	must(waitpid(pid, &ret->status, 0) == pid);
	must(fstat(err, &stat_buffer) == 0);
	ret->is_known = true;
	ret->is_clean = ret->status == 0 && stat_buffer.st_size == 0;
	must(close(err) == 0);
}

static void run(const struct way *way, struct printed *ret)
{
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
	struct stat stat_buffer;

	must(out >= 0 && err >= 0);
	finish(start(way, out, err), err, ret);
	must(fstat(out, &stat_buffer) == 0);
	char *bytes = stat_buffer.st_size ? mmap(NULL, (size_t)stat_buffer.st_size, PROT_READ,
						 MAP_PRIVATE, out, 0)
					  : NULL;
	must(bytes != MAP_FAILED);
	ret->version = version_of_bytes(bytes, (uint64_t)stat_buffer.st_size);
	if (bytes)
		must(munmap(bytes, (size_t)stat_buffer.st_size) == 0);
	must(close(out) == 0);
}

/* Each call is a message of its own. */
static void run_by_writes(const struct way *way, struct printed *ret)
{
	static char bytes[1 << 18];
	int sides[2], err = memfd_create("err", MFD_CLOEXEC);
	struct version_stream stream;
	ssize_t got;

	must(err >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sides) == 0);
	pid_t pid = start(way, sides[1], err);
	must(close(sides[1]) == 0);
	version_stream_init(&stream);
	for (ret->writes = 0; (got = recv(sides[0], bytes, sizeof(bytes), 0)) > 0; ret->writes++)
		version_stream_add(&stream, bytes, (uint64_t)got);
	must(got == 0 && close(sides[0]) == 0);
	ret->version = version_stream_finish(&stream);
	finish(pid, err, ret);
}

static void show(const struct way *way)
{
	for (unsigned i = 0; i < way->count; i++)
		printf("%s'%s'", i ? " " : "\t", way->argv[i]);
	printf("\n");
}

static bool same_words(const struct way *a, const struct way *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (strcmp(a->argv[i], b->argv[i]) != 0)
			return false;
	return true;
}

static void note_rows(const struct way *way)
{
	for (unsigned i = 0; i < way->row_count; i++)
		met[way->rows[i]]++;
}

static bool is_directory(const char *path)
{
	struct stat stat_buffer;
	return lstat(path, &stat_buffer) == 0 && S_ISDIR(stat_buffer.st_mode);
}

static bool is_file(const char *path)
{
	struct stat stat_buffer;
	return stat(path, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode);
}

static bool is_text(const char *path)
{
	struct stat stat_buffer;
	char byte;
	bool text = true;
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return false;
	text = fstat(fd, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode);
	while (text && read(fd, &byte, 1) == 1)
		text = byte > 0;
	must(close(fd) == 0);
	return text;
}

static void compare(const struct way *a, const struct way *b, struct printed *of_a,
		    struct printed *of_b)
{
	if (!of_a->is_known)
		run(a, of_a);
	if (!of_b->is_known)
		run(b, of_b);
	pairs++;
	unclean += !of_a->is_clean;
	if (of_a->is_clean && of_b->is_clean && version_equal(&of_a->version, &of_b->version)) {
		equal_outputs += of_a->version.size_bytes > 0;
		note_rows(a);
		note_rows(b);
		return;
	}
	if (!of_a->is_clean && !of_b->is_clean)
		return;
	bad++;
	printf("one form, and another output:\n");
	show(a);
	show(b);
}

/* A search that prints in one order by its words, or what it printed about one file, twice. */
static void one_search(void)
{
	static struct way way;
	struct printed first = { .is_known = false }, second = first;

	any_environment();
	write_search(&way);
	enum search_order order = search_order("rg", way.argv, environment, is_file);
	if (order == SEARCH_BY_FILE)
		run_by_writes(&way, &first);
	if (order == SEARCH_FIXED || first.writes == 1)
		compare(&way, &way, &first, &second);
}

static void one_command(void)
{
	static const struct normal_facts FACTS = { .is_directory = is_directory,
						   .is_text = is_text };
	static struct way ways[WAYS];
	static char forms[WAYS][8192];
	struct printed printed[WAYS] = { { .is_known = false } };
	size_t lengths[WAYS];
	struct command command;
	bool find = only ? strcmp(only, "find") == 0 : chance(12);

	any_environment();
	if (!find)
		any_command(&command);
	if (find)
		write_find_ways(ways);
	for (unsigned i = 0; i < WAYS; i++) {
		if (!find)
			write_way(&command, &ways[i]);
		lengths[i] = normal_form(ways[i].argv[0], ways[i].argv, &FACTS, forms[i],
					 sizeof(forms[i]));
		for (unsigned k = 0; k < i; k++)
			if (lengths[i] && lengths[i] == lengths[k] &&
			    memcmp(forms[i], forms[k], lengths[i]) == 0 &&
			    !same_words(&ways[i], &ways[k]))
				compare(&ways[i], &ways[k], &printed[i], &printed[k]);
	}
}

/* ---- the whole ---- */

static bool all_met(void)
{
	bool all = true;

	for (unsigned i = 0; i < ROW_COUNT; i++) {
		if (met[i] || (only && strcmp(ROWS[i].program, only) != 0))
			continue;
		printf("in no pair: %s %s%c\n", ROWS[i].program, ROWS[i].name,
		       ROWS[i].letter >= ' ' ? ROWS[i].letter : ' ');
		all = false;
	}
	return all;
}

int main(int argc, char **argv)
{
	bool is_long = getenv("SEEN_LONG") != NULL;
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : is_long ? 100000 : 1500;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	bool has_rg = access("/usr/bin/rg", X_OK) == 0;
	char directory[] = "/tmp/normal_forms.XXXXXX", remove[64];

	only = argc > 3 ? argv[3] : NULL;
	printf("seed %lu\n", (unsigned long)seed);
	tree_random = seed * 0x9e3779b97f4a7c15u | 1;
	must(mkdtemp(directory) && chdir(directory) == 0);
	(void)snprintf(remove, sizeof(remove), "rm -rf %s", directory);
	for (uint64_t number = 0; pairs < count && bad < 20; number++) {
		char tree[32];
		(void)snprintf(tree, sizeof(tree), "%s/t", directory);
		must(chdir(directory) == 0 && system("rm -rf t") == 0 && mkdir(tree, 0755) == 0 &&
		     chdir(tree) == 0);
		for (path_count = 0; path_count < 4;)
			make_directory("", 0);
		make_repository();
		fix_access_times();
		for (unsigned i = 0; i < 200 && pairs < count && bad < 20; i++) {
			if (has_rg && (only ? strcmp(only, "rg") == 0 : chance(2)))
				one_search();
			else
				one_command();
		}
	}
	must(chdir("/") == 0 && system(remove) == 0);
	bool enough = all_met() && equal_outputs > pairs / 4;
	printf("normal_forms: %lu pairs, %lu with output, %lu that do not end well, %lu bad: %s\n",
	       (unsigned long)pairs, (unsigned long)equal_outputs, (unsigned long)unclean,
	       (unsigned long)bad,
	       bad      ? "FAILED"
	       : enough ? "ok"
			: "FAILED: too little was met");
	return bad || !enough;
}
