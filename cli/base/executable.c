/* Program files: see executable.h. */
#include "cli/base/executable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tracker/path/path.h"
#include "tracker/process/image.h"

enum {
	SECTION_NAMES_MAX = 65536, /* bytes of section names inspected */
	SEGMENTS_MAX = 64,
	SECTIONS_MAX = 512,
	HEAD_BYTES = 1024, /* with the program headers of most files */
};

/* An open ELF file; numbers of either class are widened. */
struct elf {
	int fd;
	const unsigned char *head; /* its first bytes */
	size_t head_bytes;
	bool wide;    /* 64-bit */
	bool swapped; /* the other byte order */
};

static uint64_t number(const struct elf *elf, const unsigned char *at, size_t bytes)
{
	uint64_t value = 0;
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != elf->swapped;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * (big ? bytes - 1 - i : i);
	return value;
}

/* A field of a structure that exists in two classes. */
#define FIELD(elf, bytes, type, field) \
	((elf)->wide ? number((elf), (bytes) + offsetof(Elf64_##type, field), \
			      sizeof(((Elf64_##type *)0)->field)) \
		     : number((elf), (bytes) + offsetof(Elf32_##type, field), \
			      sizeof(((Elf32_##type *)0)->field)))

static bool read_at(int fd, uint64_t offset, void *bytes, size_t count)
{
	return offset <= INT64_MAX && pread(fd, bytes, count, (off_t)offset) == (ssize_t)count;
}

static void name_machine(uint64_t machine, char *ret_text, size_t capacity)
{
	static const struct {
		unsigned number;
		const char *name;
	} NAMES[] = { { EM_X86_64, "x86-64" }, { EM_386, "i386" },    { EM_AARCH64, "aarch64" },
		      { EM_ARM, "arm" },       { EM_RISCV, "riscv" }, { EM_PPC64, "powerpc64" },
		      { EM_S390, "s390" } };

	(void)snprintf(ret_text, capacity, "machine %u", (unsigned)machine);
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (NAMES[i].number == machine)
			(void)snprintf(ret_text, capacity, "%s", NAMES[i].name);
}

/* Reads bytes, those of the head without a call.  Returns how many, or -1. */
static ssize_t read_bytes(const struct elf *elf, uint64_t offset, void *bytes, size_t count)
{
	if (offset > elf->head_bytes || count > elf->head_bytes - offset)
		return pread(elf->fd, bytes, count, (off_t)offset);
	memcpy(bytes, elf->head + offset, count);
	return (ssize_t)count;
}

/* Reads a table of headers by one call.  count: reduced to those that the file has.  The caller frees
 * it; NULL: none can be read, or they have another size. */
static unsigned char *read_table(const struct elf *elf, uint64_t offset, uint64_t size,
				 size_t right_size, uint64_t *count)
{
	unsigned char *table = size == right_size && *count && offset && offset <= INT64_MAX
				       ? malloc(*count * right_size)
				       : NULL;
	ssize_t got = table ? read_bytes(elf, offset, table, *count * right_size) : -1;

	*count = got > 0 ? (size_t)got / right_size : 0;
	return table;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

static void read_loader(const struct elf *elf, const unsigned char *header,
			struct executable *executable)
{
	size_t size = elf->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint64_t count = at_most(FIELD(elf, header, Ehdr, e_phnum), SEGMENTS_MAX);
	unsigned char *segments = read_table(elf, FIELD(elf, header, Ehdr, e_phoff),
					     FIELD(elf, header, Ehdr, e_phentsize), size, &count);

	executable->kind = EXECUTABLE_STATIC;
	for (uint64_t i = 0; i < count; i++) {
		const unsigned char *segment = segments + i * size;
		if (FIELD(elf, segment, Phdr, p_type) != PT_INTERP)
			continue;
		uint64_t bytes = FIELD(elf, segment, Phdr, p_filesz);
		if (bytes >= sizeof(executable->loader))
			bytes = sizeof(executable->loader) - 1;
		executable->kind = EXECUTABLE_DYNAMIC;
		uint64_t at = FIELD(elf, segment, Phdr, p_offset);
		if (at > INT64_MAX ||
		    read_bytes(elf, at, executable->loader, bytes) != (ssize_t)bytes)
			bytes = 0;
		executable->loader[bytes] = '\0';
		const char *name = path_base(executable->loader);
		executable->libc = strncmp(name, "ld-musl", 7) == 0 ? LIBC_MUSL
				   : strncmp(name, "ld-linux", 8) == 0 ||
						   strncmp(name, "ld64.", 5) == 0 ||
						   strcmp(name, "ld.so.1") == 0
					   ? LIBC_GLIBC
					   : LIBC_OTHER;
	}
	free(segments);
}

static enum executable_runtime runtime_of_section(const char *name)
{
	if (strcmp(name, ".bun") == 0)
		return RUNTIME_BUN;
	if (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0)
		return RUNTIME_GO;
	return RUNTIME_NONE;
}

static void read_sections(const struct elf *elf, const unsigned char *header,
			  struct executable *executable)
{
	size_t size = elf->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint64_t offset = FIELD(elf, header, Ehdr, e_shoff),
		 all = FIELD(elf, header, Ehdr, e_shnum),
		 names_at = FIELD(elf, header, Ehdr, e_shstrndx);
	uint64_t count = at_most(all, SECTIONS_MAX);
	unsigned char *sections = read_table(elf, offset, FIELD(elf, header, Ehdr, e_shentsize),
					     size, &count);
	unsigned char section[sizeof(Elf64_Shdr)];
	uint64_t bytes = 0;
	bool has_names = count && names_at < all;

	if (has_names && names_at < count)
		memcpy(section, sections + names_at * size, size);
	else if (has_names)
		has_names = read_at(elf->fd, offset + names_at * size, section, size);
	if (has_names)
		bytes = at_most(FIELD(elf, section, Shdr, sh_size), SECTION_NAMES_MAX);
	char *names = bytes ? calloc(1, bytes + 1) : NULL;
	if (names && read_at(elf->fd, FIELD(elf, section, Shdr, sh_offset), names, bytes))
		for (uint64_t i = 0; i < count && !executable->runtime; i++) {
			uint64_t name = FIELD(elf, sections + i * size, Shdr, sh_name);
			if (name < bytes)
				executable->runtime = runtime_of_section(names + name);
		}
	free(names);
	free(sections);
}

/* Programs made by older `bun build --compile` have no section; they end in a mark, then 8
 * bytes. */
static bool ends_like_bun(int fd, uint64_t size)
{
	static const char MARK[] = "\n---- Bun! ----\n";
	char tail[64];
	return size >= sizeof(tail) && read_at(fd, size - sizeof(tail), tail, sizeof(tail)) &&
	       memmem(tail, sizeof(tail), MARK, sizeof(MARK) - 1);
}

static void inspect_elf(int fd, const unsigned char *header, size_t header_bytes, uint64_t size,
			struct executable *executable)
{
	struct elf elf = { .fd = fd,
			   .head = header,
			   .head_bytes = header_bytes,
			   .wide = header[EI_CLASS] == ELFCLASS64 };
	bool big = header[EI_DATA] == ELFDATA2MSB;

	elf.swapped = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint64_t machine = FIELD(&elf, header, Ehdr, e_machine);
	name_machine(machine, executable->machine, sizeof(executable->machine));
	executable->bits = elf.wide ? 64 : 32;
	executable->native = machine == IMAGE_OWN_MACHINE && elf.wide == (sizeof(void *) == 8) &&
			     !elf.swapped;
	read_loader(&elf, header, executable);
	read_sections(&elf, header, executable);
	executable->sanitized = executable->native && elf.wide &&
				image_loads_sanitizer_first(fd, (const char *)header, header_bytes);
	const char *name = path_base(executable->path);
	if (!executable->runtime && (ends_like_bun(fd, size) || strcmp(name, "bun") == 0))
		executable->runtime = RUNTIME_BUN;
}

/* Takes the next word of a line, cut off in place; NULL at its end. */
static char *next_word(char **line)
{
	*line += strspn(*line, " \t");
	if (!**line)
		return NULL;
	char *word = *line;
	*line += strcspn(*line, " \t");
	if (**line)
		*(*line)++ = '\0';
	return word;
}

/* env [-OPTION...] [NAME=VALUE...] PROGRAM; what stands in a script is seldom more than env
 * [-S]. */
static char *program_of_env(char *words)
{
	char *word;
	while ((word = next_word(&words)))
		if (word[0] != '-' && !strchr(word, '='))
			return word;
	return NULL;
}

static void inspect_script(const char *first, struct executable *executable)
{
	char line[EXECUTABLE_LINE_BYTES];
	char *rest = line;

	executable->kind = EXECUTABLE_SCRIPT;
	if (strncmp(first, "#!", 2) == 0)
		(void)snprintf(executable->line, sizeof(executable->line), "%.*s",
			       (int)strcspn(first + 2, "\n"), first + 2);
	memcpy(line, executable->line, sizeof(line));
	char *word = next_word(&rest);
	if (!word) {
		/* execvp(3): a file without a known format is given to the shell. */
		(void)snprintf(executable->interpreter, sizeof(executable->interpreter), "/bin/sh");
		return;
	}
	if (strcmp(path_base(word), "env") == 0) {
		char *program = program_of_env(rest);
		(void)snprintf(executable->interpreter, sizeof(executable->interpreter), "%s",
			       program ? program : word);
		return;
	}
	(void)snprintf(executable->interpreter, sizeof(executable->interpreter), "%s", word);
	rest += strspn(rest, " \t");
	(void)snprintf(executable->argument, sizeof(executable->argument), "%s", rest);
}

static bool is_text(const char *bytes, size_t count)
{
	return !memchr(bytes, '\0', count);
}

static int make_absolute(const char *path, char *ret_path, size_t capacity)
{
	char directory[PATH_MAX] = "";
	bool relative = path[0] != '/';

	if (relative && !getcwd(directory, sizeof(directory)))
		return -errno;
	int length = snprintf(ret_path, capacity, "%s%s%s", directory, relative ? "/" : "", path);
	return length < (int)capacity ? 0 : -ENAMETOOLONG;
}

int executable_inspect(const char *path, struct executable *ret_executable)
{
	struct executable executable = { .kind = EXECUTABLE_OTHER };
	_Alignas(8) unsigned char start[HEAD_BYTES] = { 0 };
	struct stat stat;

	int error = make_absolute(path, executable.found, sizeof(executable.found));
	if (error < 0)
		return error;
	if (!realpath(path, executable.path))
		return -errno;
	int fd = open(executable.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ssize_t got = fstat(fd, &stat) < 0 ? -1 : pread(fd, start, sizeof(start) - 1, 0);
	if (got < 0) {
		error = -errno;
		(void)close(fd);
		return error;
	}
	executable.setuid = stat.st_mode & S_ISUID;
	executable.setgid = (stat.st_mode & S_ISGID) && (stat.st_mode & S_IXGRP);
	executable.capabilities = fgetxattr(fd, "security.capability", NULL, 0) > 0;
	size_t line = at_most((uint64_t)got, EXECUTABLE_LINE_BYTES - 1);
	if ((size_t)got >= sizeof(Elf64_Ehdr) && memcmp(start, ELFMAG, SELFMAG) == 0) {
		inspect_elf(fd, start, (size_t)got, (uint64_t)stat.st_size, &executable);
	} else if (line > 0 &&
		   (memcmp(start, "#!", 2) == 0 || is_text((const char *)start, line))) {
		start[line] = '\0';
		inspect_script((const char *)start, &executable);
	}
	(void)close(fd);
	*ret_executable = executable;
	return 0;
}

static int check_executable(const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return -errno;
	return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

bool executable_is_own(const char *path)
{
	struct stat own, other;

	return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

int executable_find_past(const char *name, char *ret_path, size_t capacity, bool *ret_passed)
{
	const char *directories = getenv("PATH");
	int found = -ENOENT;

	*ret_passed = false;
	if (strchr(name, '/'))
		return snprintf(ret_path, capacity, "%s", name) < (int)capacity
			       ? check_executable(name)
			       : -ENAMETOOLONG;
	for (const char *at = directories ? directories : "/bin:/usr/bin"; name[0];) {
		size_t length = strcspn(at, ":");
		int written = snprintf(ret_path, capacity, "%.*s%s%s", (int)length, at,
				       length ? "/" : "./", name);
		int error = written < (int)capacity ? check_executable(ret_path) : -ENAMETOOLONG;
		bool is_launcher = error == 0 && strcmp(name, "seen") != 0 &&
				   executable_is_own(ret_path);
		if (error == 0 && !is_launcher)
			return 0;
		*ret_passed |= is_launcher;
		if (error == -EACCES)
			found = error;
		if (!at[length])
			break;
		at += length + 1;
	}
	return found;
}

int executable_find(const char *name, char *ret_path, size_t capacity)
{
	bool passed;
	return executable_find_past(name, ret_path, capacity, &passed);
}

int executable_chain(const char *name, struct executable *ret_chain, char *ret_missing)
{
	int count = 0;

	while (count < EXECUTABLE_CHAIN_MAX) {
		char path[PATH_MAX];
		(void)snprintf(ret_missing, PATH_MAX, "%s", name);
		int error = executable_find(name, path, sizeof(path));
		if (error == 0)
			error = executable_inspect(path, &ret_chain[count]);
		if (error < 0)
			return error;
		count++;
		if (ret_chain[count - 1].kind != EXECUTABLE_SCRIPT)
			break;
		name = ret_chain[count - 1].interpreter;
	}
	return count;
}

char **executable_words(const struct executable *chain, int count, char *const words[])
{
	size_t given = 0, at = 0;

	while (words[given])
		given++;
	char **list = calloc(given + (size_t)2 * EXECUTABLE_CHAIN_MAX + 1, sizeof(*list));
	if (!list)
		return NULL;
	for (int i = count - 2; i >= 0; i--) {
		list[at++] = (char *)(uintptr_t)chain[i].interpreter;
		if (chain[i].argument[0])
			list[at++] = (char *)(uintptr_t)chain[i].argument;
	}
	list[at++] = count > 1 ? (char *)(uintptr_t)chain[0].found : words[0];
	for (size_t i = 1; i < given; i++)
		list[at++] = words[i];
	return list;
}

enum executable_obstacle executable_obstacle(const struct executable *executable)
{
	if (executable->kind != EXECUTABLE_DYNAMIC && executable->kind != EXECUTABLE_STATIC)
		return OBSTACLE_NONE;
	if (!executable->native)
		return OBSTACLE_FOREIGN;
	if (executable->kind == EXECUTABLE_STATIC)
		return OBSTACLE_STATIC;
	if (executable->libc != LIBC_GLIBC)
		return executable->libc == LIBC_MUSL ? OBSTACLE_MUSL : OBSTACLE_LIBC;
	if (executable->sanitized)
		return OBSTACLE_SANITIZER;
	switch (executable->runtime) {
	case RUNTIME_GO:
		return OBSTACLE_GO;
	case RUNTIME_BUN:
		return OBSTACLE_BUN;
	case RUNTIME_NONE:
		break;
	}
	return OBSTACLE_NONE;
}
