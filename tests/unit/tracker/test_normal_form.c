/* normal_form.h: which ways to write a command are one, and which are not.  stress.normal_forms runs the real programs. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tracker/process/normal_form.h"

enum { WAYS_MAX = 8, FORM_BYTES = 4096 };

/* "d" and "d/e" are directories, "t" holds text. */
static bool is_one_of(const char *path, const char *const paths[])
{
	for (; *paths; paths++)
		if (strcmp(path, *paths) == 0)
			return true;
	return false;
}

static bool is_directory(const char *path)
{
	static const char *const DIRECTORIES[] = { "d",   "d/e",  "/",       ".",
						   "./d", "d//e", "./d/./e", NULL };
	return is_one_of(path, DIRECTORIES);
}

static bool is_text(const char *path)
{
	static const char *const TEXTS[] = { "t", "./t", ".//t", NULL };
	return is_one_of(path, TEXTS);
}

static struct normal_facts facts = { .is_directory = is_directory, .is_text = is_text };

/* Writes the form of a line: words separated by blanks, "~" is a blank inside a word, "''" a word that is empty. */
static size_t form(const char *line, char ret_form[FORM_BYTES], size_t capacity)
{
	char text[1024], *words[160] = { NULL }, *save = NULL;
	size_t count = 0;

	(void)snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok_r(text, " ", &save); word && count < 159;
	     word = strtok_r(NULL, " ", &save)) {
		for (char *at = word; *at; at++)
			*at = *at == '~' ? ' ' : *at;
		words[count++] = strcmp(word, "''") == 0 ? word + 2 : word;
	}
	return normal_form(words[0], words, &facts, ret_form, capacity);
}

/* Are the ways of each case one form, and those of different cases different ones? */
static void expect_cases(const char *const cases[][WAYS_MAX], size_t count)
{
	static char first[64][FORM_BYTES];
	static size_t lengths[64];

	cr_assert(count <= 64);
	for (size_t i = 0; i < count; i++) {
		lengths[i] = form(cases[i][0], first[i], FORM_BYTES);
		cr_expect(lengths[i] > 0, "%s has no form", cases[i][0]);
		for (size_t k = 1; k < WAYS_MAX && cases[i][k]; k++) {
			char other[FORM_BYTES];
			size_t length = form(cases[i][k], other, FORM_BYTES);
			cr_expect(length == lengths[i] && memcmp(other, first[i], length) == 0,
				  "%s is not %s", cases[i][k], cases[i][0]);
		}
		for (size_t k = 0; k < i; k++)
			cr_expect(lengths[k] != lengths[i] ||
					  memcmp(first[k], first[i], lengths[i]) != 0,
				  "%s is %s", cases[i][0], cases[k][0]);
	}
}
#define EXPECT(cases) expect_cases(cases, sizeof(cases) / sizeof((cases)[0]))

static void expect_none(const char *const lines[], size_t count)
{
	char unused[FORM_BYTES];

	for (size_t i = 0; i < count; i++)
		cr_expect_eq(form(lines[i], unused, sizeof(unused)), 0, "%s has a form", lines[i]);
}
#define EXPECT_NONE(lines) expect_none(lines, sizeof(lines) / sizeof((lines)[0]))

Test(normal_form, grep)
{
	static const char *const CASES[][WAYS_MAX] = {
		{ "grep -in a f", "grep -i -n a f", "grep f -e a -n -i",
		  "grep --ignore-case --line-number a f", "grep -n a f -i", "grep -in -- a f",
		  "grep --regexp=a -in f", "grep -ine a f" },
		{ "grep -n a f" },
		{ "grep -i a f" },
		{ "grep a f", "grep -G a f", "grep --color=never a f", "grep --line-buffered a f",
		  "grep --colour=never a f" },
		{ "grep --color a f", "grep --color= a f" },
		{ "grep --color=always a f" },
		{ "grep b f" },
		{ "grep a g" },
		{ "grep a ./f" },
		{ "grep a t", "grep a ./t", "grep a .//t" },
		{ "grep -H a t" },
		{ "grep -H a ./t" },
		{ "grep -l a ./t" },
		{ "grep -L a ./t" },
		{ "grep a t f" },
		{ "grep a ./t f" },
		{ "grep a f t" },
		{ "grep -e a -e b f", "grep -ea f --regexp b", "grep a\nb f" },
		{ "grep -e b -e a f" },
		{ "grep -A2 -B2 a f", "grep -C2 a f", "grep -2 a f", "grep -C 02 a f",
		  "grep --context=2 a f", "grep -A2 -C2 a f", "grep -C2 -B2 a f",
		  "grep --context 2 a f" },
		{ "grep -A2 a f", "grep -A 2 a f", "grep --after-context=2 a f",
		  "grep -A2 -A2 a f" },
		{ "grep -B2 a f" },
		{ "grep -A3 -B2 a f", "grep -A3 -C2 a f" },
		{ "grep -A2 -B3 a f", "grep -B3 -C2 a f" },
		{ "grep -m1 a f", "grep --max-count 1 a f", "grep -m 0001 a f" },
		{ "grep -m0 a f", "grep -m 00 a f" },
		{ "grep -m1k a f" },
		{ "grep -a a f", "grep --binary-files=text a f", "grep --text a f" },
		{ "grep -I a f", "grep --binary-files=without-match a f" },
		{ "grep -r a d", "grep -r a d/", "grep a d// -r",
		  "grep --directories=recurse a d" },
		{ "grep -R a d" },
		{ "grep -r a" },
		{ "grep -r a /", "grep -r a //" },
		{ "grep -r a ./d" },
		{ "grep -r a f" },
		{ "grep -r a f/" },
		{ "grep -r --exclude-dir=x a d" },
		{ "grep -r --exclude-dir=x a d/" },
		{ "grep -r --include=x a d", "grep -r --include=x a d/" },
		{ "grep -r --exclude=x a d" },
		{ "grep -r --include=x --include=y a d" },
		{ "grep -r --include=y --include=x a d" },
		{ "grep -f p f", "grep --file=p f" },
		{ "grep -f p a f" },
		{ "grep -f p -e a f" },
		{ "grep -c '' f" },
	};
	static const char *const NONE[] = {
		"grep -E -F a f",   "grep -EG a f", "grep -lL a f",      "grep -aI a f",
		"grep -A2 -A3 a f", "grep -y a f",  "grep --colo a f",   "grep -C2 -3 a f",
		"grep a -",         "grep -e",      "grep --regexp",     "grep --count=1 a f",
		"grep -2 -3 a f",   "grep --= a f", "grep \x7f -\x80 f", "grep -\x01 a f",
	};
	EXPECT(CASES);
	EXPECT_NONE(NONE);
}

Test(normal_form, lines_of_files)
{
	static const char *const CASES[][WAYS_MAX] = {
		{ "cat f", "cat ./f", "cat -u f", "cat -- f" },
		{ "cat f g", "cat f .//g" },
		{ "cat g f" },
		{ "cat /f", "cat /./f" },
		{ "cat //f" },
		{ "cat f/" },
		{ "cat f/.", "cat ./f/." },
		{ "cat /" },
		{ "cat .", "cat ./." },
		{ "cat -A f", "cat -vET f", "cat --show-all f", "cat -eT f", "cat -te f",
		  "cat -t -e f" },
		{ "cat -e f", "cat -vE f" },
		{ "cat -t f" },
		{ "cat -n f" },
		{ "cat -b f", "cat -bn f", "cat -n -b f" },
		{ "wc f" },
		{ "wc ./f" },
		{ "wc -lwc g", "wc g", "wc -cwl g", "wc --lines --words --bytes g" },
		{ "wc -l f", "wc --lines f" },
		{ "wc -lw f", "wc -wl f" },
		{ "wc -lwcm f" },
		{ "wc -lwcL f" },
		{ "head f", "head -n10 f", "head -10 f", "head -n 010 ./f", "head --lines=10 f" },
		{ "head -n5 f", "head -5 f" },
		{ "head -n -5 f" },
		{ "head -n5k f" },
		{ "head -c5 f" },
		{ "head -v f" },
		{ "head -v ./f" },
		{ "head f g" },
		{ "head ./f g" },
		{ "head -q f g", "head --silent f g", "head --quiet f g" },
		{ "tail f", "tail -n10 f", "tail -n -10 ./f", "tail -n -010 f" },
		{ "tail -n5 f", "tail -n -5 f", "tail -5 f" },
		{ "tail -n +5 f" },
		{ "tail -c5 f" },
		{ "tail -n10 f g", "tail f g" },
		{ "tail f ./g" },
		{ "sed -n 5p f", "sed -n 5p ./f", "sed f -n -e 5p", "sed --quiet 5p f",
		  "sed -E -n 5p f", "sed -n ~5~p~;~ f" },
		{ "sed -n 5,7p f", "sed -n 5~,~7~p f" },
		{ "sed -n 5,$p f", "sed -n ;5,~$p; f" },
		{ "sed -n $p f" },
		{ "sed -n p f" },
		{ "sed 5p f" },
		{ "sed -n 5p;6p f", "sed -n -e 5p -e 6p f", "sed -n 5p~;~6p f" },
		{ "sed -n 6p;5p f" },
		{ "sed -n 57p f" },
	};
	static const char *const NONE[] = {
		"sed f",           "cat -z f",      "cat -",           "head -n5 -c5 f",
		"head -n5 -n6 f",  "head f -5",     "tail f -5",       "tail -5",
		"tail -5 f g",     "sed -n 5q f",   "sed -n 5,p f",    "sed -n ,5p f",
		"sed -n 5,6,7p f", "sed -n 5p6p f", "sed -n s/a/b/ f", "sed -n 5p}",
		"sed -n 5 f",      "tail -5 -f",    "awk 1 f",         "wc -x f",
	};
	EXPECT(CASES);
	EXPECT_NONE(NONE);
}

Test(normal_form, ls)
{
	static const char *const CASES[][WAYS_MAX] = {
		{ "ls", "ls .", "ls ./", "ls -1", "ls --color=never", "ls -- ." },
		{ "ls d", "ls ./d", "ls d/", "ls -1 d//" },
		{ "ls d/e", "ls d//e", "ls ./d/./e/" },
		{ "ls f" },
		{ "ls ./f" },
		{ "ls d f" },
		{ "ls d/ f" },
		{ "ls -d d" },
		{ "ls -d d/" },
		{ "ls -R d" },
		{ "ls -R ./d" },
		{ "ls -l", "ls --format=long", "ls -l -1", "ls -1l", "ls --format=verbose" },
		{ "ls -lg", "ls -g" },
		{ "ls -ln", "ls -n", "ls --numeric-uid-gid" },
		{ "ls -lo", "ls -o" },
		{ "ls --full-time", "ls -l --full-time" },
		{ "ls -C", "ls --format=vertical" },
		{ "ls -m" },
		{ "ls -x", "ls --format=across", "ls --format=horizontal" },
		{ "ls -a", "ls --all" },
		{ "ls -A" },
		{ "ls -la", "ls -al", "ls -a -l .", "ls . -al" },
		{ "ls -I x -I y" },
		{ "ls -I y -I x" },
		{ "ls --block-size=1" },
		{ "ls -w 80", "ls --width=080", "ls -w80" },
	};
	static const char *const NONE[] = {
		"ls -C -l",
		"ls -m -1",
		"ls -x --full-time",
		"ls -aA",
		"ls -tS",
		"ls -h --block-size=1",
		"ls --sort=size -t",
		"ls --sort",
		"ls --time=atime",
	};
	EXPECT(CASES);
	EXPECT_NONE(NONE);
	/* At a terminal -1 is another thing than none. */
	char one[FORM_BYTES], other[FORM_BYTES];
	facts.is_terminal = true;
	cr_expect_neq(form("ls -1", one, sizeof(one)), form("ls", other, sizeof(other)));
	/* What a directory is, is not known. */
	facts = (struct normal_facts){ .is_terminal = false };
	cr_expect_neq(form("ls d/", one, sizeof(one)), form("ls d", other, sizeof(other)));
	cr_expect_neq(form("grep a ./t", one, sizeof(one)), form("grep a t", other, sizeof(other)));
}

Test(normal_form, git)
{
	static const char *const CASES[][WAYS_MAX] = {
		{ "git status", "git --no-pager status", "git -P status",
		  "git -P --no-pager status" },
		{ "git status -s", "git status --short" },
		{ "git status -sb", "git status -b -s" },
		{ "git diff --cached", "git diff --staged" },
		{ "git diff" },
		{ "git diff f" },
		{ "git diff ./f" },
		{ "git diff -- f" },
		{ "git diff f --" },
		{ "git diff --stat -w f", "git diff -w --stat f" },
		{ "git diff f -w --stat" },
		{ "git diff f --stat -w" },
		{ "git diff -s", "git diff --no-patch" },
		{ "git diff -p", "git diff -u", "git diff --patch" },
		{ "git log -n3", "git log -3", "git log --max-count=3", "git log -n 03" },
		{ "git log --oneline" },
		{ "git log --reverse" },
		{ "git show --oneline" },
		{ "git show HEAD" },
	};
	static const char *const NONE[] = {
		"git",
		"git -P",
		"git push",
		"git status -z",
		"git status --short --long",
		"git log --reverse --reverse",
		"git log -pw",
		"git diff -s --stat",
		"git diff --name-status -s",
		"git diff -p --name-only",
		"git log main@{yesterday}",
		"git -c a=b status",
		"git log -- main@{1}",
	};
	EXPECT(CASES);
	EXPECT_NONE(NONE);
	facts.is_terminal = true; /* it would start a pager */
	char unused[FORM_BYTES];
	cr_expect_eq(form("git status", unused, sizeof(unused)), 0);
}

Test(normal_form, find)
{
	static const char *const CASES[][WAYS_MAX] = {
		{ "find", "find .", "find -P", "find -P .", "find . -print", "find -print" },
		{ "find d" },
		{ "find d e" },
		{ "find e d" },
		{ "find ./d" },
		{ "find . -name x -type f", "find -type f -name x",
		  "find . -type f -a -name x -print", "find -name x -and -type f" },
		{ "find . -name x" },
		{ "find . ! -name x", "find . -not -name x" },
		{ "find . -name x ! -name y", "find . ! -name y -name x" },
		{ "find . -name y ! -name x" },
		{ "find . -name x ! -name x", "find . ! -name x -name x" },
		{ "find . -name x -name y", "find . -name y -a -name x" },
		{ "find . -iname x" },
		{ "find . -path x", "find . -wholename x" },
		{ "find . -ipath x", "find . -iwholename x" },
		{ "find . -regex x" },
		{ "find . -iregex x" },
		{ "find . -maxdepth 2", "find . -maxdepth 02" },
		{ "find . -mindepth 2" },
		{ "find . -mindepth 1 -maxdepth 2", "find . -maxdepth 2 -mindepth 1" },
		{ "find . -mindepth 2 -maxdepth 1" },
		{ "find . -depth" },
		{ "find . -depth -maxdepth 2", "find . -maxdepth 2 -depth" },
		/* word for word */
		{ "find . -maxdepth 2 -maxdepth 2" },
		{ "find . -mindepth 2 -mindepth 3" },
		{ "find . -mindepth 3 -mindepth 2" },
		{ "find . -maxdepth x" },
		{ "find . -type f,d -name x" },
		{ "find . -name x -type f,d" },
		{ "find . -print -name x" },
		{ "find . -name x -o -name y" },
		{ "find . ( -name x )", "find ( -name x )" },
		{ "find . -a -name x" },
		{ "find . -name" },
		{ "find . -name x -a" },
		{ "find . -name x !" },
	};
	static const char *const NONE[] = { "find -L .",     "find -H d", "find -P -L d",
					    "find -P -P d",  "find -- d", "find -O3 d",
					    "find -D tree d" };
	EXPECT(CASES);
	EXPECT_NONE(NONE);
}

/* More than fits: of a command that has a form. */
Test(normal_form, room)
{
	static const char *const LINES[] = { "cat a/../f g", "grep -in a f", "git status",
					     "find . -name x" };
	char whole[FORM_BYTES], less[FORM_BYTES], line[1024] = "grep";

	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
		size_t length = form(LINES[i], whole, sizeof(whole));
		for (size_t capacity = 0; capacity < length; capacity++) {
			memset(less, 'x', sizeof(less));
			cr_expect_eq(form(LINES[i], less, capacity), 0, "%s in %zu", LINES[i],
				     capacity);
			cr_expect_eq(less[capacity], 'x', "%s in %zu", LINES[i], capacity);
		}
		cr_expect_eq(form(LINES[i], less, length), length);
	}
	/* Thirty-two lists and patterns; 128 operands. */
	for (int i = 0; i < 32; i++)
		strcat(line, " -ea");
	strcat(line, " f");
	cr_expect(form(line, whole, sizeof(whole)) > 0);
	strcat(line, " -ea");
	cr_expect_eq(form(line, whole, sizeof(whole)), 0);
	strcpy(line, "ls");
	for (int i = 0; i < 32; i++)
		strcat(line, " -Ia");
	cr_expect(form(line, whole, sizeof(whole)) > 0);
	strcat(line, " -Ia");
	cr_expect_eq(form(line, whole, sizeof(whole)), 0);
	strcpy(line, "cat");
	for (int i = 0; i < 128; i++)
		strcat(line, " f");
	cr_expect(form(line, whole, sizeof(whole)) > 0);
	strcat(line, " f");
	cr_expect_eq(form(line, whole, sizeof(whole)), 0);
	strcpy(line, "git diff");
	for (int i = 0; i < 128; i++)
		strcat(line, " f");
	cr_expect(form(line, whole, sizeof(whole)) > 0);
	strcat(line, " --");
	cr_expect_eq(form(line, whole, sizeof(whole)), 0);
}

Test(normal_form, where_it_applies)
{
	static const char *const PLAIN[] = { "PATH=/bin", "GREP_COLORS=x", NULL };
	static const char *const OTHERS[][3] = { { "A=", "POSIXLY_CORRECT" },
						 { "_POSIX2_VERSION=1" },
						 { "GREP_OPTIONS=-i" } };
	char *const none[] = { NULL };
	char unused[FORM_BYTES];

	cr_expect(normal_form_applies(NULL));
	cr_expect(normal_form_applies((char *const *)PLAIN));
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
		cr_expect_not(normal_form_applies((char *const *)OTHERS[i]), "%s", OTHERS[i][0]);
	cr_expect_str_eq(normal_form_package("grep"), "GNU grep");
	cr_expect_null(normal_form_package("awk"));
	cr_expect_eq(normal_form("cat", none, &facts, unused, sizeof(unused)), 0);
}
