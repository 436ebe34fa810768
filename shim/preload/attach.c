/*
 * Start and end of the library inside a process.
 *
 * The session is found by SEEN_SESSION: the directory of a segment, or a name, which the `seen`
 * program beside this library turns into a directory (and makes the session, if it is new).
 * Without SEEN_SESSION, or with SEEN_SESSION_MODE=off, every exported function only passes on.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/keep/scratch.h"
#include "shim/preload/directory.h"
#include "shim/preload/exit.h"
#include "shim/preload/follow/guarded.h"
#include "shim/preload/follow/in_process.h"
#include "shim/preload/follow/range.h"
#include "shim/preload/follow/reader.h"
#include "shim/preload/handshake.h"
#include "shim/preload/keep.h"
#include "shim/preload/launch.h"
#include "shim/preload/message.h"
#include "shim/preload/real.h"
#include "shim/preload/record.h"
#include "shim/preload/rules.h"
#include "shim/preload/state.h"
#include "shim/supervise/handshake.h"
#include "tracker/content/baseline.h"
#include "tracker/guard/unreported.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/decimal.h"
#include "tracker/process/announced.h"
#include "tracker/process/attach.h"
#include "tracker/process/capture.h"
#include "tracker/process/hook_command.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/package.h"
#include "tracker/process/role.h"
#include "tracker/process/scope.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

/* Where this library lies: what its entry in LD_PRELOAD says. */
static void find_library(void)
{
	const char *path = real_library();
	shim.library = path && path[0] == '/' && strlen(path) < SEGMENT_PATH_BYTES ? path : "";
}

/* Runs `seen session NAME`, which prints the session's directory, in a child of its own that has
 * neither this library nor the program's standard output. */
static bool ask_program(const char *name, char *const environment[], char *ret_directory,
			size_t capacity)
{
	static char program[SEGMENT_PATH_BYTES];
	char *const words[] = { program, (char *)"session", (char *)"--", (char *)name, NULL };
	char *clean[1024];
	int count = 0, status = -1, ends[2];
	size_t length = 0;

	if (!program_path(program, sizeof(program)))
		return false;
	for (size_t i = 0; environment[i] && count < 1023; i++)
		if (strncmp(environment[i], "LD_PRELOAD=", 11) != 0 &&
		    strncmp(environment[i], "SEEN_SESSION=", 13) != 0)
			clean[count++] = environment[i];
	clean[count] = NULL;
	if (sys_call3(SYS_pipe2, (long)ends, O_CLOEXEC, 0) < 0)
		return false;
	long child = sys_call6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (child == 0) {
		if (ends[1] == 1)
			(void)sys_fcntl(1, F_SETFD, 0);
		else
			(void)sys_call3(SYS_dup3, ends[1], 1, 0);
		(void)sys_call3(SYS_execve, (long)program, (long)words, (long)clean);
		(void)sys_call3(SYS_exit_group, 127, 0, 0);
	}
	(void)sys_close(ends[1]);
	while (child > 0 && length < capacity - 1) {
		ssize_t got = sys_read(ends[0], ret_directory + length, capacity - 1 - length);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	(void)sys_close(ends[0]);
	if (child <= 0)
		return false;
	while (sys_call6(SYS_wait4, child, (long)&status, 0, 0, 0, 0) == -EINTR)
		;
	while (length > 0 && ret_directory[length - 1] == '\n')
		length--;
	ret_directory[length] = '\0';
	return length > 0 && ret_directory[0] == '/';
}

/* SEEN_SESSION out of one process's environment as it was at its start (proc(5), environ).  Only a
 * directory: a name would mean what that process's other variables say.  Returns 1 when it was
 * found, 0 when it is not there, a negative errno when the environment cannot be read. */
static int find_in_environment(uint32_t pid, char *ret_directory, size_t capacity)
{
	static const char VARIABLE[] = "SEEN_SESSION=/";
	const size_t wanted = sizeof(VARIABLE) - 1;
	char path[40] = "/proc/", part[4096];
	size_t matched = 0; /* bytes of VARIABLE at the beginning of this entry */
	size_t length = 0;  /* of the value so far */
	bool begins = true, found = false;

	memcpy(decimal_write(path + 6, pid), "/environ", sizeof("/environ"));
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	for (ssize_t got; !found && (got = sys_read(fd, part, sizeof(part))) > 0;) {
		for (ssize_t i = 0; i < got && !found; i++) {
			if (matched < wanted) {
				begins = begins && part[i] == VARIABLE[matched];
				matched = begins ? matched + 1 : 0;
				begins = begins || part[i] == '\0';
				if (matched == wanted)
					ret_directory[length++] = '/';
			} else {
				ret_directory[length++] = part[i];
				found = part[i] == '\0';
				if (length == capacity && !found)
					matched = length = 0,
					begins = false; /* too long for a directory */
			}
		}
	}
	(void)sys_close(fd);
	return found;
}

/* The same for the nearest ancestor that has it, for a process whose own environment was
 * scrubbed. */
static bool find_in_ancestors(char *ret_directory, size_t capacity)
{
	enum { ANCESTORS_MAX = 16 };
	uint32_t pid = (uint32_t)sys_getppid();
	int found = 0;

	/* One that cannot be read is another user's: no session of ours reaches beyond it. */
	for (int level = 0; level < ANCESTORS_MAX && pid > 1 && found == 0; level++) {
		found = find_in_environment(pid, ret_directory, capacity);
		pid = process_parent_of(pid);
	}
	return found > 0;
}

/* `SEEN_SESSION=` and the directory: a short one beside what else every start touches (start.ld).
 * Behind it is room for the name of the segment. */
static char short_session[256], long_session[SEGMENT_PATH_BYTES + 32];

/* Maps the segment of the session that the environment names. */
static bool map_session(char *const environment[])
{
	static const char VARIABLE[] = "SEEN_SESSION=", SEGMENT[] = "/segment";
	const char *session = variable(environment, "SEEN_SESSION");

	if (session && (!*session || strlen(session) >= SEGMENT_PATH_BYTES))
		return false;
	bool is_short = session && session[0] == '/' &&
			strlen(session) + sizeof(VARIABLE) + sizeof(SEGMENT) <=
				sizeof(short_session);
	shim.session = is_short ? short_session : long_session;
	char *directory = shim.session + sizeof(VARIABLE) - 1;
	memcpy(shim.session, VARIABLE, sizeof(VARIABLE));
	if (!session) {
		if (!find_in_ancestors(directory, SEGMENT_PATH_BYTES))
			return false;
	} else if (session[0] == '/')
		memcpy(directory, session, strlen(session) + 1);
	else if (!ask_program(session, environment, directory, SEGMENT_PATH_BYTES))
		return false;
	char *end = directory + strlen(directory);
	memcpy(end, SEGMENT, sizeof(SEGMENT));
	int error = segment_map_to_use(directory, &shim.segment);
	*end = '\0';
	return error == 0;
}

/* The session's journal, if it has one.  Where it cannot be written to (a sandbox that shows it
 * read-only), what this process does is seen and not recorded. */
static void map_journal(void)
{
	const struct settings *settings = shim.segment.settings;
	const char *path = segment_journal(&shim.segment);

	if (!path || settings->journal_level == JOURNAL_LEVEL_OFF)
		return;
	if (journal_map_windows_cleared(path, &shim.journal) < 0) {
		segment_count(&shim.segment, COUNTER_lost_journals, 1);
		return;
	}
	journal_make_room(&shim.journal, JOURNAL_ROOM_UNITS);
}

/* What this process does is recorded from here on. */
static void start_records(void)
{
	const struct settings *settings = shim.segment.settings;

	if (!shim.journal.header)
		return;
	/* A filter of system calls that came with exec: what a failed call inspected is not known
	 * then. */
	shim.filtered = sys_call6(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
	shim.records = true;
	shim.records_all = settings->journal_level == JOURNAL_LEVEL_ALL &&
			   !settings->journal_exclude.count;
}

static enum session_agent_is said_by(const char *value)
{
	if (value && strcmp(value, "outside") == 0)
		return SESSION_AGENT_IS_OUTSIDE;
	if (value && strcmp(value, "inside") == 0)
		return SESSION_AGENT_IS_INSIDE;
	return SESSION_AGENT_IS_AUTO;
}

/* In the process that was copied: the copy has its descriptors. */
static void after_fork(void)
{
	reader_untrackable();
	guarded_started();
}

static void in_fork(void)
{
	shim.fork_parent = shim.pid;
	shim.is_fork = true;
	reader_untrackable();
	shim.answers_own =
		false; /* what the process that was copied knows is unknown to a process that asks the copy */
	scratch_reset();
	keep_reset();
	chunk_reset();
	launch_reset();
	guarded_fork();
	if (!shim.on)
		return;
	if (shim.sandboxed) { /* who this is may not be asked */
		shim.plain = false;
		shim.records = false;
		shim.on = false;
		return;
	}
	shim.pid = sys_getpid();
	/* no parent that it sees, or init: another PID namespace, or an orphan */
	if (sys_getppid() != shim.fork_parent)
		shim.request.context.process_ns = process_pid_ns();
	record_fork();
	handshake_known();
}

/* What only glibc has: in a musl program, whose loader resolves what it can, these are NULL. */
extern __typeof__(on_exit) on_exit __attribute__((weak));
/* pthread_atfork(3) as libc exports it; dso_handle ties it to this library. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		      void *dso_handle) __attribute__((weak));
__attribute__((visibility("hidden"))) void *__dso_handle = NULL;
const char *gnu_get_libc_version(void) __attribute__((weak));

/* What begins when the session is mapped and the program's file known.  executable: empty: not
 * known. */
__attribute__((noinline)) static void attach(const char *executable,
					     const struct invocation *invocation_at, char **argv,
					     char **environment)
{
	struct invocation invocation = *invocation_at;

	package_complete(&shim.segment, SUBJECT_SELF, executable, &invocation);
	const char *ticket = handshake_ticket();
	const char *scope = variable(environment, "SEEN_SCOPE");
	shim.process = process_attach(
		&shim.segment, SUBJECT_SELF,
		ticket ? ticket : variable(environment, TICKET_VARIABLE),
		!variable(environment, "SEEN_SESSION"), &invocation, scope && *scope ? scope : NULL,
		said_by(variable(environment, "SEEN_AGENT_IS")), &shim.request.context);
	shim.role = shim.request.context.role;
	shim.scope_id = baseline_scope(&shim.request.context, scope && *scope ? scope : NULL);
	shim.resumed = launch_resumed;
	shim.pid = sys_getpid();
	shim.ends_capture = shim.request.context.capture_id &&
			    capture_shell(&shim.segment, shim.request.context.capture_id) ==
				    (uint32_t)shim.pid;
	if (shim.ends_capture)
		announced_claim(&shim.segment, shim.request.context.scope_id,
				shim.request.context.capture_id, argv);
	change_start();
	start_records();
	record_start(executable, argv);
	handshake_known();
	if (shim.supervised)
		process_note_supervised(&shim.segment, shim.process);
	rules_start(executable, invocation.name); /* ignored or not, attached or not */
	if (!invocation.ignored) {
		shim.changes = shim.guards = shim.request.context.flags & CONTEXT_ATTACHED;
		if (shim.guards)
			guarded_inherit(process_writes(&shim.segment, shim.process));
		if (shim.guards && unreported_any(&shim.segment) && !hook_command_among(argv))
			message_unreported();
		shim.answers_own = invocation.whitelisted && shim.role != ROLE_VIEWER &&
				   (shim.request.context.flags & CONTEXT_ATTACHED);
		shim.reads_own = shim.role == ROLE_AGENT || shim.answers_own;
		if (shim.answers_own)
			in_process_start(invocation.name);
		if (shim.role == ROLE_AGENT && invocation.profile)
			shim.edit_pattern = (uint32_t)shim.segment.settings
						    ->profiles[invocation.profile - 1]
						    .edit_pattern;
		shim.shows = shim.role == ROLE_READER && invocation.shows;
		if (shim.shows)
			range_start(executable, argv);
		shim.views = shim.request.is_viewer = shim.role == ROLE_VIEWER;
		shim.request.accepts_diff = shim.views;
		if (shim.role == ROLE_VIEWER || shim.role == ROLE_READER)
			request_init(&shim.segment, &shim.request, invocation.probes);
	}
	if (!invocation.ignored)
		keep_start();
	shim.counts = process_counts(&shim.segment, shim.process);
	/* Other threads do not exist yet; those that come later see all of the above. */
	shim.on = on_exit(at_exit, NULL) == 0 &&
		  __register_atfork(NULL, after_fork, in_fork, &__dso_handle) == 0;
	if (shim.on && shim.role == ROLE_READER && !invocation.ignored)
		reader_start(executable, invocation.name, argv, environment, execve);
	shim_complete();
}

/* ---- the program's file ---- */

/* What its path is known by: the path that exec was given, and the state of the file there.  The
 * kernel's own answer costs a process more than all that it writes: /proc makes two directories for
 * it. */
struct image_key {
	uint64_t hash[2];
	uint64_t dev, ino;
	/* high half of a hash, number of a text: these two words and the path; NULL: not used */
	uint64_t *note;
};

enum { KNOWN_FILE_BYTES_MAX = 200 };

static void mix(struct image_key *file, uint64_t word)
{
	file->hash[0] = (file->hash[0] ^ word) * 0x9e3779b97f4a7c15u;
	file->hash[0] ^= file->hash[0] >> 29;
	file->hash[1] = (file->hash[1] ^ word) * 0xc2b2ae3d27d4eb4fu;
	file->hash[1] ^= file->hash[1] >> 31;
}

static void ask_for_file(struct image_key *ret_file)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	struct image_key file = { .hash = { 1, 2 } };
	uint64_t *notes = segment_notes(&shim.segment);
	struct stat stat;

	*ret_file = file;
	if (!notes || !shim.journal.header || !path || path[0] != '/')
		return;
	size_t length = strnlen(path, KNOWN_FILE_BYTES_MAX);
	if (length == KNOWN_FILE_BYTES_MAX || strncmp(path, "/dev/", 5) == 0 ||
	    strncmp(path, "/proc/", 6) == 0 || sys_stat(path, &stat) < 0)
		return;
	for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
		uint64_t word = 0;
		memcpy(&word, path + i, length - i < sizeof(word) ? length - i : sizeof(word));
		mix(&file, word);
	}
	const uint64_t words[] = { length,
				   stat.st_dev,
				   stat.st_ino,
				   (uint64_t)stat.st_size,
				   (uint64_t)stat.st_ctim.tv_sec,
				   (uint64_t)stat.st_ctim.tv_nsec,
				   (uint64_t)stat.st_mtim.tv_sec,
				   (uint64_t)stat.st_mtim.tv_nsec };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		mix(&file, words[i]);
	file.dev = stat.st_dev;
	file.ino = stat.st_ino;
	file.note = &notes[SEGMENT_NOTES / 2 + file.hash[0] % (SEGMENT_NOTES / 2)];
	*ret_file = file;
}

/* Its path, where a process of the session noted it.  Returns the length; 0: not known. */
static size_t recall_file(const struct image_key *file, char *ret_path, size_t capacity)
{
	uint64_t note = file->note ? __atomic_load_n(file->note, __ATOMIC_ACQUIRE) : 0;
	size_t bytes;

	if (!note || note >> 32 != file->hash[0] >> 32)
		return 0;
	const char *text = journal_bytes(&shim.journal, (uint32_t)note, &bytes);
	if (!text || bytes <= sizeof(file->hash) || bytes - sizeof(file->hash) >= capacity ||
	    memcmp(text, file->hash, sizeof(file->hash)) != 0)
		return 0;
	bytes -= sizeof(file->hash);
	memcpy(ret_path, text + sizeof(file->hash), bytes);
	ret_path[bytes] = '\0';
	return bytes;
}

/* Notes what the kernel said, where that is the file that exec was given: a script is not what
 * runs. */
static void note_file(const struct image_key *file, const char *path, size_t length)
{
	char text[sizeof(file->hash) + 256];
	struct stat stat;

	if (!file->note || sizeof(file->hash) + length > sizeof(text) ||
	    sys_stat("/proc/self/exe", &stat) < 0 || stat.st_dev != file->dev ||
	    stat.st_ino != file->ino)
		return;
	memcpy(text, file->hash, sizeof(file->hash));
	memcpy(text + sizeof(file->hash), path, length);
	uint32_t number = journal_text(&shim.journal, text, sizeof(file->hash) + length, true);
	if (number)
		__atomic_store_n(file->note, (file->hash[0] >> 32) << 32 | number,
				 __ATOMIC_RELEASE);
}

/* With room for the longest path on the stack, of which others need less. */
__attribute__((noinline)) static void attach_far(char **argv, char **environment)
{
	char executable[SEGMENT_PATH_BYTES];
	struct invocation invocation;
	ssize_t length = sys_readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	executable[length > 0 ? length : 0] = '\0'; /* without /proc: a tool */
	role_invocation(&shim.segment, executable, argv, &invocation);
	attach(executable, &invocation, argv, environment);
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
	char executable[256];
	(void)argc;
	if (!gnu_get_libc_version || !on_exit || !__register_atfork)
		return; /* and the arguments of this function are not there either */
	real_start();
	find_library();
	const char *mode = variable(environment, "SEEN_SESSION_MODE");
	if (mode && strcmp(mode, "off") == 0)
		return;
	if (!map_session(environment))
		return;
	if (shim.segment.settings->session_mode == SESSION_MODE_OFF) {
		segment_unmap(&shim.segment);
		return;
	}
	if (handshake_send() == HANDSHAKE_STAY_OFF) {
		segment_unmap(&shim.segment);
		return;
	}
	struct invocation invocation;
	struct image_key file;
	map_journal();
	ask_for_file(&file);
	bool recalled = recall_file(&file, executable, sizeof(executable)) > 0;
	if (recalled) {
		role_invocation(&shim.segment, executable, argv, &invocation);
		/* Nothing is ever said to a tool.  The others' file is the kernel's to tell. */
		if (invocation.role == ROLE_TOOL) {
			attach(executable, &invocation, argv, environment);
			return;
		}
	}
	ssize_t length = sys_readlink("/proc/self/exe", executable, sizeof(executable));
	if (length <= 0 || length == sizeof(executable)) {
		attach_far(argv, environment);
		return;
	}
	executable[length] = '\0';
	if (!recalled)
		note_file(&file, executable, (size_t)length);
	role_invocation(&shim.segment, executable, argv, &invocation);
	attach(executable, &invocation, argv, environment);
}
