/* git_index.h: entries of each version. */
#include <criterion/criterion.h>

#include "cli/undo/git_index.h"
#include "support.h"

enum { OID_BYTES = 20 };

static char bytes[4096];
static size_t size;
static struct git_index git_index;

static void append(const void *from, size_t size_bytes)
{
	memcpy(bytes + size, from, size_bytes);
	size += size_bytes;
}

static void start(unsigned char version, unsigned char entries)
{
	const unsigned char head[] = { 'D', 'I', 'R', 'C', 0, 0, 0, version, 0, 0, 0, entries };

	size = 0;
	memset(bytes, 0, sizeof(bytes));
	append(head, sizeof(head));
}

/* Up to its name. */
static void append_entry(unsigned char mark)
{
	unsigned char entry[40 + OID_BYTES + 2] = { 0 };

	entry[24 + 2] = 0x81; /* a regular file */
	entry[24 + 3] = 0xa4;
	entry[40] = mark;
	append(entry, sizeof(entry));
}

static void expect(const char *path, unsigned char mark)
{
	cr_assert_eq(git_index_next(&git_index), 1);
	cr_assert_str_eq(git_index.path, path);
	cr_assert_eq(git_index.path_bytes, strlen(path));
	cr_assert_eq(git_index.oid[0], mark);
}

/* In version 4 a name tells how much of the one before it is cut, in one byte or, from 128 on, in two. */
Test(git_index, names_of_version_4)
{
	char longest[201], next[80];

	memset(longest, 'a', 200);
	longest[200] = '\0';
	(void)snprintf(next, sizeof(next), "%.70sb", longest);
	start(4, 3);
	append_entry(1);
	append("\0dir/one", sizeof("\0dir/one"));
	append_entry(2);
	append("\3two", sizeof("\3two")); /* without "one" */
	append_entry(3);
	append("\7", 1);
	append(longest, sizeof(longest));
	must(git_index_init(&git_index, bytes, size + OID_BYTES, OID_BYTES) == 0);
	expect("dir/one", 1);
	expect("dir/two", 2);
	expect(longest, 3);
	cr_assert_eq(git_index_next(&git_index), 0);

	start(4, 2);
	append_entry(1);
	append("", 1);
	append(longest, sizeof(longest));
	append_entry(2);
	append("\x80\2b", sizeof("\x80\2b")); /* 130 of 200 */
	must(git_index_init(&git_index, bytes, size + OID_BYTES, OID_BYTES) == 0);
	expect(longest, 1);
	expect(next, 2);
}
