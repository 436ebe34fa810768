/*
 * Program files: what is known of one without running it.  ELF as in elf(5), scripts as in
 * execve(2) ("Interpreter scripts").
 */
#ifndef SEEN_CLI_EXECUTABLE_H
#define SEEN_CLI_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EXECUTABLE_LINE_BYTES = 256, /* of a first line that the kernel inspects */
	EXECUTABLE_CHAIN_MAX = 6, /* a script's interpreter may be a script; the kernel follows 4 */
};

enum executable_kind {
	EXECUTABLE_DYNAMIC, /* ELF with a dynamic loader */
	EXECUTABLE_STATIC,  /* ELF without one: nothing can be preloaded */
	EXECUTABLE_SCRIPT,
	EXECUTABLE_OTHER, /* neither */
};

enum executable_libc { LIBC_NONE, LIBC_GLIBC, LIBC_MUSL, LIBC_OTHER };

/* Run times that make system calls of their own, past libc. */
enum executable_runtime { RUNTIME_NONE, RUNTIME_GO, RUNTIME_BUN };

struct executable {
	char path[PATH_MAX];  /* symbolic links resolved */
	char found[PATH_MAX]; /* absolute, as it was found: what a script is called by */
	enum executable_kind kind;
	enum executable_libc libc;          /* ELF: told by the dynamic loader's name */
	enum executable_runtime runtime;    /* ELF: told by its sections */
	char loader[EXECUTABLE_LINE_BYTES]; /* DYNAMIC: PT_INTERP */
	char machine[32];                   /* ELF: "x86-64", ... */
	unsigned bits;                      /* ELF: 32 or 64 */
	bool native; /* ELF: of this program's machine, so that its library fits */
	/* ELF: AddressSanitizer's shared runtime must be its first library (image.h) */
	bool sanitized;
	bool setuid, setgid, capabilities;
	/* SCRIPT: */
	char line[EXECUTABLE_LINE_BYTES]; /* its first line without `#!`; "" when it has none */
	char interpreter[PATH_MAX];       /* what runs it, env(1) passed over: a path or a name */
	char argument[EXECUTABLE_LINE_BYTES]; /* the word behind it; "" */
};

/* What keeps the library out of a program file, and, behind OBSTACLE_GO, what has it inside and
 * calls the kernel past it. */
enum executable_obstacle {
	OBSTACLE_NONE, /* nothing that an ELF file tells */
	OBSTACLE_FOREIGN,
	OBSTACLE_STATIC,
	OBSTACLE_MUSL,
	OBSTACLE_LIBC,
	OBSTACLE_SANITIZER,
	OBSTACLE_GO,
	OBSTACLE_BUN,
	OBSTACLE_COUNT,
};

/* executable_obstacle(): what there is against a file that executable_look() filled in. */
enum executable_obstacle executable_obstacle(const struct executable *executable);

/* executable_find(): the file that execvp(3) would run.  A launcher of `seen enable` on PATH, which is
 * this program under another name, is passed over.
 * Returns 0; -ENOENT; -EACCES when it is there and may not be executed; -ENAMETOOLONG. */
int executable_find(const char *name, char *ret_path, size_t capacity);

/* executable_find_past(): the same, and whether one was passed.  executable_is_own(): is a file this
 * program? */
int executable_find_past(const char *name, char *ret_path, size_t capacity, bool *ret_passed);
bool executable_is_own(const char *path);

/* executable_inspect(): inspects a file.  Returns 0; the errors of open(2) and pread(2);
 * -ENAMETOOLONG. */
int executable_inspect(const char *path, struct executable *ret_executable);

/* executable_chain(): a program by its name or path, its interpreter, that one's ...
 *
 * ret_chain: EXECUTABLE_CHAIN_MAX elements; the last one found is no script, unless the chain is
 * longer.
 * Returns how many there are; the errors of executable_find() and executable_inspect(), with
 * *ret_missing (PATH_MAX bytes) what was looked for. */
int executable_chain(const char *name, struct executable *ret_chain, char *ret_missing);

/* executable_words(): the words that the last program of a chain is started with: interpreters,
 * their arguments, the script, the command's arguments.  words: the command's, ended by NULL.
 * Returns a list ended by NULL, to be freed; its words are borrowed from both.  NULL when out of
 * memory. */
char **executable_words(const struct executable *chain, int count, char *const words[]);

#endif
