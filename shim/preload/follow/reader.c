/*
 * Readers' commands, remembered and answered as a whole.
 *
 * At the start, below a capture: is this command, by all that its output hangs on, one that the
 * scope was given, and are its inputs what they were?  Then `seen answer` takes the place of this
 * image, prints one line and ends as the command did.  In every other case the program runs, and
 * what it opens and lists is put into a list (tracker/content/inputs.h), which is remembered at its
 * end if it ended with status 0, printed nothing on its standard error, read nothing from its
 * standard input, and kept to what its agent does not cut.
 *
 * Readers are single-threaded programs that read, write and exit.  Whatever is not that makes the
 * process untrackable: nothing is remembered.  A search may have threads (search_order.h), which add
 * to the list without a lock.  It is remembered where its whole output came by one write(2): then
 * it is one file's, and no order is left to chance.
 */
#include "shim/preload/follow/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/call/call.h"
#include "shim/keep/scratch.h"
#include "shim/preload/descriptors.h"
#include "shim/preload/follow/reader_git.h"
#include "shim/preload/follow/reader_identity.h"
#include "shim/preload/follow/reader_place.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/remembered.h"
#include "tracker/content/inputs.h"
#include "tracker/content/inputs_needed.h"
#include "tracker/path/path.h"
#include "tracker/process/announced.h"
#include "tracker/process/capture.h"
#include "tracker/process/role.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	STDIN,
	STDOUT,
	STDERR,
	STREAM_PUTTING = 0x0800, /* glibc, libio.h: something was put into it */
};

static struct {
	struct inputs inputs;
	struct inputs_needed check;
	struct version identity;
	struct moment begin;
	uint64_t forgets;
	uint64_t start_bytes;  /* that the process had written before */
	uint64_t start_aside;  /* and of these, the library to files of its own */
	bool stdin_is_file;    /* the stream's, by freopen(3) */
	bool copied_output;    /* there is another descriptor for 1 or 2 */
	uint64_t output_bytes; /* that were seen to be written to descriptor 1 */
	uint64_t writes;       /* and by how many calls */
	bool is_by_file;       /* it has threads: SEARCH_BY_FILE */
	uint64_t most_bytes;   /* that may count as given */
	char *const *words;
	/* execve() as the program calls it */
	int (*execute)(const char *path, char *const argv[], char *const environment[]);
} reader;

/* git status prints how long it took, where that was two seconds. */
static const uint64_t GIT_SHORT_NS = UINT64_C(1500000000);

static struct moment now(void)
{
	const struct request *request = &shim.request;
	return moment_now(&shim.segment, request->context.scope_id, request->number,
			  request->context.capture_id, request->command_id);
}

void reader_changed(int operation, const char *path)
{
	if (!shim.tracks || operation != OPERATION_DELETE || !reader.check.is_git || !path ||
	    !reader_git_is_lock(path))
		reader_untrackable();
}

void reader_untrackable(void)
{
	shim.tracks = false;
	shim_complete();
}

/* What it reads need not be inspected any more, nor when it is run again. */
static void is_too_much(void)
{
	remembered_refuse(&shim.segment, &reader.identity, &reader.begin);
	reader_untrackable();
}

/* ---- answering ---- */

/* Runs `seen answer` in the place of this program.  Comes back where that cannot be done. */
static void answer(char *text, char *const environment[])
{
	static char program[SEGMENT_PATH_BYTES];
	char *const words[] = { program, (char *)"answer", (char *)"request", text, NULL };
	int saved_errno = errno;

	if (program_path(program, sizeof(program)) &&
	    sys_call6(SYS_faccessat, AT_FDCWD, (long)program, X_OK, 0, 0, 0) == 0)
		(void)reader.execute(program, words, environment);
	errno = saved_errno;
}

/* The notice; its length, or a negative errno.  before: the command as it was run then; NULL: as it
 * is now.  ret_text: SEGMENT_PATH_BYTES. */
static int render_notice(uint64_t output_bytes, uint64_t age_ns, const char *before, char *ret_text)
{
	char *command = scratch_acquire();
	int length = -ENOMEM;

	if (command) {
		notice_command(reader.words, command, SEGMENT_PATH_BYTES);
		bool is_same = !before || strcmp(before, command) == 0;
		length = notice_request(&shim.segment, is_same ? command : before, is_same,
					output_bytes, age_ns, ret_text, SEGMENT_PATH_BYTES);
	}
	scratch_release(command);
	return length;
}

/* The inputs are what they were: the notice, unless the model asks again. */
static void answer_if_it_may(const struct remembered_slot *remembered, uint32_t inputs,
			     char *const environment[])
{
	struct segment *segment = &shim.segment;
	struct request *request = &shim.request;
	uint64_t number = request->number;
	char *text = scratch_acquire();

	segment_count(segment, COUNTER_requests_repeated, 1);
	if (!text || segment->settings->session_mode != SESSION_MODE_SUBSTITUTE)
		goto end;
	if (remembered_yields(segment, remembered, number)) {
		record_request(DECISION_GIVEN_AGAIN, remembered->output_bytes, inputs);
		goto end;
	}
	int length = render_notice(remembered->output_bytes,
				   reader.begin.time_ns - remembered->time_ns,
				   inputs_command(&reader.inputs), text);
	if (length <= 0 || (uint64_t)length >= remembered->output_bytes)
		goto end;
	struct shape shape = { 0 };
	shape_add(&shape, text, (size_t)length);
	uint64_t saved = remembered->output_bytes - shape.bytes;
	remembered_note(segment, remembered, (struct note){ .notice_request = number });
	segment_count(segment, COUNTER_requests_answered, 1);
	segment_count(segment, COUNTER_bytes_saved, saved);
	request_wrote(segment, request, NULL, &shape);
	command_reader(segment, request->command_id, -1);
	record_request(DECISION_NOTICE, saved, inputs);
	answer(text, environment);
	/* The program runs after all. */
	command_reader(segment, request->command_id, 1);
	request_unwrote(segment, request, &shape);
	segment_count(segment, COUNTER_bytes_saved, (uint64_t)-saved);
	segment_count(segment, COUNTER_requests_answered, (uint64_t)-1);
	remembered_unnote(segment, remembered, number);
end:
	scratch_release(text);
}

/* Has a transcript or a hook shown that the model was given it? */
static bool is_proven(const struct remembered_slot *remembered)
{
	enum proof proof = command_proof(&shim.segment, remembered->command_id);
	return proof == PROOF_WHOLE || proof == PROOF_REPORTED;
}

/* Returns whether it is worth inspecting what the command reads. */
static bool find_answer(char *const environment[])
{
	struct segment *segment = &shim.segment;
	struct remembered_slot remembered;
	struct request *request = &shim.request;

	if (remembered_find(segment, request->context.scope_id, &reader.identity, &remembered) < 0)
		return true;
	if (remembered_is_refused(&remembered, &reader.begin)) {
		segment_count(segment, COUNTER_lost_requests, 1);
		return false;
	}
	struct output_limits limits = limits_of_context(segment, &request->context);
	if (!remembered_is_current(segment, &remembered, &reader.begin, &limits) ||
	    (reader.check.is_git && !is_proven(&remembered)))
		return true;
	request_at_sink(segment, request);
	if (!request->at_sink)
		return true;
	if (remembered_inputs(segment, &remembered, &reader.inputs) == 0 &&
	    inputs_are_same(&reader.inputs, true))
		answer_if_it_may(&remembered, inputs_length(&reader.inputs), environment);
	inputs_clear(&reader.inputs);
	return true;
}

/* ---- what it opens and lists ---- */

/* One thread only, but of a search, and the process that was started, not a fork of it. */
static bool is_tracked(void)
{
	pid_t thread = reader.is_by_file ? shim.pid : (pid_t)sys_call3(SYS_gettid, 0, 0, 0);
	if (thread != shim.pid || thread != sys_getpid())
		reader_untrackable();
	return shim.tracks;
}

/* The same, of what comes before the end, where that is asked. */
static bool is_tracked_still(void)
{
	return shim_is_alone() ? shim.tracks : is_tracked();
}

static void add_known(enum input_kind kind, const char *path, int fd, const struct stat *stat,
		      int error)
{
	int failed = inputs_add_known(&reader.inputs, kind, reader.check.flags, path, fd, stat,
				      error);
	if (failed == -E2BIG) {
		segment_count(&shim.segment, COUNTER_lost_requests, 1);
		is_too_much();
	} else if (failed < 0) {
		reader_untrackable();
	}
}

static void add(enum input_kind kind, const char *path, int fd, int error)
{
	add_known(kind, path, fd, NULL, error);
}

static void keep_listed(int fd, const char *path)
{
	if (!reader_place_open(fd, path))
		reader_untrackable();
}

static void opened_by_git(int fd, const char *path, const struct stat *stat)
{
	if (reader_git_is_named_by_content(path)) {
		add(INPUT_WORD, path, -1, 0);
		return;
	}
	if (reader_git_depends_on_more(path, fd)) {
		reader_untrackable();
		return;
	}
	add_known(INPUT_CONTENT, path, fd, stat, 0);
	if (reader_git_is_index(path))
		add(INPUT_WORD, path, -1, 0);
}

static void opened(int fd, const char *path, int flags)
{
	struct stat stat;

	if (reader_place_is_of_process(path))
		return;
	if (sys_fstat(fd, &stat) < 0)
		reader_untrackable();
	else if (S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(1, 3))
		; /* /dev/null (admin-guide/devices.txt) */
	else if (reader_place_is_of_devices(path))
		reader_untrackable(); /* /dev/stdin, and what is never the same */
	else if (S_ISDIR(stat.st_mode)) {
		if (!(flags & O_DIRECTORY)) /* else it is to be listed */
			add(INPUT_TYPE, path, -1, 0);
		keep_listed(fd, path);
	} else if (!reader.check.is_git)
		add_known(INPUT_CONTENT, path, fd, &stat, 0);
	else
		opened_by_git(fd, path, &stat);
}

void reader_opened(int fd, int directory, const char *path, int flags)
{
	int error = fd < 0 ? errno : 0;
	char *where = is_tracked_still() ? scratch_acquire() : NULL;

	if (!shim.tracks)
		;
	else if (reader.check.is_git && path &&
		 (strcmp(path, "/dev/null") == 0 ||
		  ((flags & O_CREAT) && reader_git_is_lock(path))))
		; /* what is written to it shows, and what is made of it */
	else if (!where || !path || (flags & O_ACCMODE) != O_RDONLY ||
		 (flags & (O_CREAT | O_TRUNC | O_PATH)) ||
		 (error && error != ENOENT && error != ENOTDIR) ||
		 !reader_place(directory, path, where))
		reader_untrackable();
	else if (error)
		add(INPUT_ABSENT, where, -1, error);
	else
		opened(fd, where, flags);
	scratch_release(where);
}

void reader_asked(int directory, const char *path, int flags, int error)
{
	int saved_errno = errno;

	/* Others open and list what they depend on. */
	if (!reader.check.asks || !is_tracked_still())
		return;
	/* What the path points to may not be there (EFAULT). */
	if (error && saved_errno != ENOENT && saved_errno != ENOTDIR && saved_errno != ELOOP) {
		if (saved_errno != EFAULT)
			reader_untrackable();
		return;
	}
	if (!path || (!path[0] && (flags & AT_EMPTY_PATH)))
		return;
	char *where = scratch_acquire();
	if (!where || !reader_place(directory, path, where) || reader_place_is_of_devices(where))
		reader_untrackable();
	else
		add(reader.check.is_git ? reader_git_asked_as(where) : INPUT_TYPE, where, -1, 0);
	/* Made or removed between the two calls. */
	if (reader.check.is_git && shim.tracks && !reader_git_asked_so(where, flags, error))
		reader_untrackable();
	scratch_release(where);
	errno = saved_errno;
}

void reader_listed(int fd, int directory, const char *path)
{
	const char *listed;
	int error = fd < 0 ? errno : 0;
	char *where = is_tracked_still() ? scratch_acquire() : NULL;

	if (!shim.tracks)
		;
	else if (where && reader.check.asks && path && (error == ENOENT || error == ENOTDIR) &&
		 reader_place(directory, path, where))
		add(INPUT_ABSENT, where, -1, error);
	else if (!where || fd <= STDERR || (path && !reader_place(directory, path, where)))
		reader_untrackable();
	else {
		if (path)
			keep_listed(fd, where);
		listed = reader_place_of(fd);
		if (!listed || reader_place_is_of_devices(listed))
			reader_untrackable();
		else
			add(reader.check.details ? INPUT_DETAILS : INPUT_NAMES, listed, fd, 0);
	}
	scratch_release(where);
}

void reader_closing(int fd)
{
	reader_place_close(fd);
}

void reader_duplicated(int fd, int copy)
{
	const char *listed = reader_place_of(fd);
	if (copy < 0)
		return;
	reader_closing(copy);
	/* By a copy of their own output some see whether it can be closed. */
	reader.copied_output |= fd <= STDERR;
	if (fd == STDIN || copy <= STDERR)
		reader_untrackable();
	else if (listed)
		keep_listed(copy, listed);
}

void reader_passed(int fd, ssize_t count, bool written)
{
	if (count <= 0)
		return;
	if (fd != STDOUT && (written || fd == STDIN))
		reader_untrackable();
	if (fd != STDOUT || !written)
		return;
	(void)__atomic_add_fetch(&reader.writes, 1, __ATOMIC_RELAXED);
	/* More than its agent gets to see, or than is ever answered. */
	if (__atomic_add_fetch(&reader.output_bytes, (uint64_t)count, __ATOMIC_RELAXED) >
	    reader.most_bytes)
		is_too_much();
}

void reader_made_stream(int fd)
{
	if (fd <= STDERR || reader.copied_output)
		reader_untrackable();
}

void reader_moved(int fd, const char *path)
{
	const char *listed = path ? NULL : reader_place_of(fd);

	/* git goes to the root of the work tree. */
	if (reader_place_moved())
		return;
	/* find(1) goes back to where it never left. */
	if (!listed || strcmp(listed, ".") != 0)
		reader_untrackable();
}

/* A stream had a buffer: something was read from it, or will have been. */
static bool was_used(const FILE *stream)
{
	return stream->_IO_buf_base || stream->_IO_read_base;
}

void reader_reopening(const FILE *stream)
{
	if (stream != stdin || (was_used(stream) && !reader.stdin_is_file))
		reader_untrackable();
	reader.stdin_is_file = true;
}

void reader_stream_closing(const FILE *stream)
{
	if ((stream == stdin && was_used(stream) && !reader.stdin_is_file) ||
	    (stream == stderr && (stream->_flags & STREAM_PUTTING)))
		reader_untrackable();
}

/* ---- start and end ---- */

/* What may count as given, with a proof or without. */
static uint64_t most_bytes(void)
{
	const struct context *context = &shim.request.context;
	if (limits_on_record(&shim.segment, context).bytes == UINT64_MAX)
		return shim.segment.settings->notice_max_bytes;
	return limits_of_context(&shim.segment, context).bytes;
}

/* The words as they were given: some programs change them while they run. */
static bool note_command(void)
{
	char *command = scratch_acquire();
	bool noted = false;

	if (command) {
		notice_command(reader.words, command, SEGMENT_PATH_BYTES);
		noted = inputs_add_command(&reader.inputs, command) == 0;
	}
	scratch_release(command);
	return noted;
}

/* What the words name. */
static void add_words(char *const argv[])
{
	enum input_kind kind = reader.check.details ? INPUT_WORD : INPUT_TYPE;

	if (reader.check.is_here && shim.tracks)
		add(kind, ".", -1, 0);
	for (size_t i = 1; argv[i] && shim.tracks; i++)
		add(kind, argv[i], -1, 0);
}

/* Agents run git for themselves, too, and parse what comes. */
static bool is_asked_by_model(char *const environment[])
{
	const struct context *context = &shim.request.context;
	return reader_git_applies(environment) &&
	       announced_is(&shim.segment, context->scope_id, context->capture_id);
}

static bool has_order(const char *name, char *const argv[], char *const environment[])
{
	enum search_order order = reader_order(name, argv, environment);

	reader.is_by_file = order == SEARCH_BY_FILE;
	return order != SEARCH_UNKNOWN;
}

void reader_start(const char *executable, const char *name, char *const argv[],
		  char *const environment[],
		  int (*execute)(const char *path, char *const argv[], char *const environment[]))
{
	static const char *const FILES[] = { "/etc/passwd", "/etc/group", "/etc/localtime" };
	struct segment *segment = &shim.segment;
	struct request *request = &shim.request;
	const struct settings *settings = segment->settings;

	/* Below no capture nothing is given to a scope: the program runs as if there were nothing
	 * of this. */
	if (!request->command_id || settings->requests_enable != REQUESTS_ENABLE_YES ||
	    !inputs_needed(name, argv, &reader.check) || strcmp(path_base(executable), name) != 0 ||
	    path_in_workspace(segment, executable) || reader_is_never(name, argv) ||
	    !has_order(name, argv, environment) ||
	    (reader.check.is_git && !is_asked_by_model(environment)) ||
	    !reader_identify(executable, name, argv, environment, &reader.identity) ||
	    inputs_init(&reader.inputs) < 0)
		return;
	reader.words = argv;
	reader.execute = execute;
	reader.begin = now();
	reader.most_bytes = most_bytes();
	if (!find_answer(environment))
		return;
	/* At the end descriptor 1 may be closed, and the agent may have closed what it read. */
	request_confirm_sink(segment, request);
	if (!request->at_sink)
		return;

	if (!note_command())
		return;
	reader.forgets = segment_counter(segment, COUNTER_forgets);
	reader.start_aside = sys_aside_bytes;
	shim.tracks = process_bytes_written((uint32_t)shim.pid, &reader.start_bytes) &&
		      reader_place_init(reader.check.is_git);
	if (reader.check.details || reader.check.is_git)
		for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]) && shim.tracks; i++)
			add(INPUT_WORD, FILES[i], -1, 0);
	/* A program that prints attributes of files, and not their content, does not open them. */
	if (!reader.check.content)
		add_words(argv);
}

/* Was nothing forgotten since it began? */
static bool is_of_now(const struct moment *now)
{
	return now->scope_epoch && now->scope_epoch == reader.begin.scope_epoch &&
	       now->session_epoch == reader.begin.session_epoch &&
	       segment_counter(&shim.segment, COUNTER_forgets) == reader.forgets;
}

/* Was all of it given to the scope, and read from what is still there? */
static bool was_given(int status, const struct moment *moment)
{
	struct request *request = &shim.request;

	if (reader.check.is_git && (moment->time_ns - reader.begin.time_ns > GIT_SHORT_NS ||
				    !inputs_are_old(&reader.inputs)))
		return false;
	if (status != 0 || !is_tracked() || (was_used(stdin) && !reader.stdin_is_file) ||
	    (stderr->_flags & STREAM_PUTTING) || stdout->_IO_write_ptr > stdout->_IO_write_base)
		return false;
	struct output_limits limits = limits_on_record(&shim.segment, &request->context);
	request_still_at_sink(&shim.segment, request);
	return request->at_sink && is_of_now(moment) &&
	       command_within_so_far(&shim.segment, moment->capture_id, moment->command_id,
				     &limits) &&
	       inputs_are_same(&reader.inputs, false);
}

/* What no notice would be shorter than is given, and not remembered. */
static void remember(uint64_t output_bytes, const struct moment *moment)
{
	struct segment *segment = &shim.segment;
	char *text = scratch_acquire();
	int length = text ? render_notice(output_bytes, 0, NULL, text) : -1;

	scratch_release(text);
	if (length <= 0 || (uint64_t)length >= output_bytes ||
	    remembered_record(segment, &reader.identity, &reader.inputs, output_bytes, moment) < 0)
		return;
	segment_count(segment, COUNTER_requests_remembered, 1);
	/* Forgotten between the check and the record: then it must not stand. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	struct moment after = now();
	if (!is_of_now(&after))
		(void)remembered_forget(segment, moment->scope_id);
}

void reader_flush(void)
{
	if (shim.tracks && reader.check.is_git && descriptor_stream_flush(stdout) != 0)
		reader_untrackable();
}

void reader_finish(int status)
{
	uint64_t written;

	if (!shim.tracks)
		return;
	struct moment moment = now();
	if (was_given(status, &moment) && process_bytes_written((uint32_t)shim.pid, &written) &&
	    written >= reader.start_bytes + sys_aside_bytes - reader.start_aside) {
		uint64_t output_bytes = written - reader.start_bytes -
					(sys_aside_bytes - reader.start_aside);
		record_request(DECISION_CONTENT, output_bytes, inputs_length(&reader.inputs));
		/* Of several files, which have no order, there are several calls. */
		if (!reader.is_by_file ||
		    (reader.writes == 1 && reader.output_bytes == output_bytes))
			remember(output_bytes, &moment);
	}
	shim.tracks = false;
}
