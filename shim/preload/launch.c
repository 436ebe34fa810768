/*
 * A program about to be started: it is announced to the session, and the copy of the environment that it
 * gets holds its ticket, the session's folder in place of its name, and our library, if somebody had taken
 * that out.  For a program that could not load the library (another architecture, musl) it is taken
 * out, so that the loader prints nothing.  The caller's own environment stays as it is.
 *
 * Where the caller scrubbed its environment (`env -i`), only LD_PRELOAD is put back: the child finds the session
 * by its ancestors and its place by its pid (attach.c).
 *
 * This runs between fork or vfork and exec: only the stack and the segment are written to.
 */
#include <elf.h>
#include <string.h>

#include "shim/preload/shim.h"
#include "tracker/sys.h"

extern char **environ;

#define PRELOAD "LD_PRELOAD="
#define SESSION "SEEN_SESSION="

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Does a value of SEEN_SESSION mean the session that this process belongs to? */
static bool is_our_session(const char *value)
{
	return strcmp(value, shim.session + sizeof(SESSION) - 1) == 0 || strcmp(value, shim.segment.header->name) == 0;
}

int launch_count(char *const environment[])
{
	int count = 0;

	/* The kernel would answer EFAULT for such a pointer; let it. */
	if (!shim.on || ((uintptr_t)environment < 4096 && environment))
		return -1;
	for (; environment && environment[count]; count++) {
		if (count == LAUNCH_VARIABLES_MAX)
			return -1;
		if (begins_with(environment[count], SESSION) &&
		    !is_our_session(environment[count] + sizeof(SESSION) - 1))
			return -1;
	}
	return count;
}

/* Finds our library in a value of LD_PRELOAD (ld.so(8): separated by spaces or colons).  Returns where it begins, or NULL. */
static const char *find_library(const char *value)
{
	size_t length = strlen(shim.library);
	for (const char *at = value; *at;) {
		size_t word = strcspn(at, ": ");
		if (word == length && memcmp(at, shim.library, length) == 0)
			return at;
		at += word;
		at += strspn(at, ": ");
	}
	return NULL;
}

/* LD_PRELOAD= with our library first.  False when it does not fit. */
static bool put_library(const char *value, char *ret_entry, size_t capacity)
{
	size_t library = strlen(shim.library), rest = strlen(value);

	if (library == 0 || sizeof(PRELOAD) + library + 1 + rest > capacity)
		return false;
	char *at = ret_entry;
	memcpy(at, PRELOAD, sizeof(PRELOAD) - 1);
	at += sizeof(PRELOAD) - 1;
	memcpy(at, shim.library, library);
	at += library;
	if (rest)
		*at++ = ':';
	memcpy(at, value, rest + 1);
	return true;
}

/* LD_PRELOAD= without our library, which begins at `found` in `value`.  False when it does not fit. */
static bool take_library_out(const char *value, const char *found, char *ret_entry, size_t capacity)
{
	const char *behind = found + strlen(shim.library);
	size_t before = (size_t)(found - value);

	behind += strspn(behind, ": ");
	if (sizeof(PRELOAD) + strlen(value) > capacity)
		return false;
	char *at = ret_entry;
	memcpy(at, PRELOAD, sizeof(PRELOAD) - 1);
	at += sizeof(PRELOAD) - 1;
	memcpy(at, value, before);
	memcpy(at + before, behind, strlen(behind) + 1);
	return true;
}

/* Can a program load this library?  False only when its file says that it cannot: an ELF file of another class or
 * machine, or one whose loader is musl's (elf(5)).  Looked at where the path has a slash: then the look costs the same for
 * every program.  A script goes by its interpreter. */
static bool can_load(const char *executable)
{
	char head[1024];
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;

	for (int level = 0; level < 4; level++) {
		if (!strchr(executable, '/'))
			return true;
		int fd = sys_open(executable, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
		if (fd < 0)
			return true;
		ssize_t length = sys_read(fd, head, sizeof(head) - 1);
		(void)sys_close(fd);
		if (length < 20)
			return true;
		head[length] = '\0';
		if (head[0] == '#' && head[1] == '!') {
			char *path = head + 2 + strspn(head + 2, " \t");
			path[strcspn(path, " \t\n")] = '\0';
			/* the next round reads into `head`, behind which the name lies: keep it on the stack */
			size_t bytes = strlen(path) + 1;
			char *name = __builtin_alloca(bytes);
			memcpy(name, path, bytes);
			executable = name;
			continue;
		}
		if (memcmp(head, ELFMAG, SELFMAG) != 0)
			return true;
#if defined(__x86_64__)
		uint16_t machine = EM_X86_64;
#else
		uint16_t machine = EM_AARCH64;
#endif
		if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != machine)
			return false;
		/* the loader's name lies in the first page of every usual executable */
		for (ssize_t at = 64; at + 8 < length; at++)
			if (head[at] == '/' && memcmp(head + at, "/ld-musl", 8) == 0)
				return false;
		return true;
	}
	return true;
}

void launch_prepare(struct launch *ret_launch, pid_t pid, const char *executable, char *const argv[],
		    char *const environment[], int count, char **ret_environment)
{
	const char *preload = NULL;
	bool has_session = false;
	int kept = 0;

	if ((uintptr_t)executable < 4096)
		executable = "";
	if ((uintptr_t)argv < 4096)
		argv = NULL;
	ret_launch->process = process_announce(&shim.segment, &shim.request.context, shim.process, pid, executable, argv,
					       ret_launch->ticket);
	for (int i = 0; i < count; i++) {
		char *entry = environment[i];
		if (begins_with(entry, TICKET_VARIABLE "="))
			continue;
		if (begins_with(entry, PRELOAD) && !preload) {
			preload = entry + sizeof(PRELOAD) - 1;
			continue;
		}
		if (begins_with(entry, SESSION)) {
			has_session = true;
			entry = shim.session; /* a name was looked up once */
		}
		ret_environment[kept++] = entry;
	}
	if (has_session && ret_launch->ticket[0])
		ret_environment[kept++] = ret_launch->ticket;

	const char *found = preload ? find_library(preload) : NULL;
	bool loads = can_load(executable);
	if (found ? !loads && take_library_out(preload, found, ret_launch->preload, sizeof(ret_launch->preload)) :
		    loads && put_library(preload ? preload : "", ret_launch->preload, sizeof(ret_launch->preload)))
		ret_environment[kept++] = ret_launch->preload;
	else if (preload)
		ret_environment[kept++] = (char *)preload - (sizeof(PRELOAD) - 1);
	ret_environment[kept] = NULL;
}

void launch_failed(const struct launch *launch)
{
	process_withdraw(&shim.segment, launch->process);
}

void launch_spawned(const struct launch *launch, pid_t pid)
{
	process_set_pid(&shim.segment, launch->process, pid);
}

static const char *own_preload(void)
{
	for (char **entry = environ; entry && *entry; entry++)
		if (begins_with(*entry, PRELOAD))
			return *entry + sizeof(PRELOAD) - 1;
	return "";
}

bool launch_repairs_command(void)
{
	const char *preload = own_preload();
	/* within single quotes in a shell's command: nothing that would end them */
	return shim.on && shim.library[0] && !find_library(preload) && !strchr(preload, '\'') && !strchr(shim.library, '\'') &&
	       strlen(preload) < 1000;
}

void launch_command(const char *command, char *ret_command, size_t capacity)
{
	static const char EXPORT_WORDS[] = "export LD_PRELOAD='";
	char value[SEGMENT_PATH_BYTES + 1024];
	char *at = ret_command;

	if (!put_library(own_preload(), value, sizeof(value)) ||
	    sizeof(EXPORT_WORDS) + strlen(value) + 4 + strlen(command) > capacity) {
		memcpy(ret_command, command, strlen(command) + 1);
		return;
	}
	memcpy(at, EXPORT_WORDS, sizeof(EXPORT_WORDS) - 1);
	at += sizeof(EXPORT_WORDS) - 1;
	size_t length = strlen(value + sizeof(PRELOAD) - 1);
	memcpy(at, value + sizeof(PRELOAD) - 1, length);
	at += length;
	memcpy(at, "'; ", 3);
	memcpy(at + 3, command, strlen(command) + 1);
}
