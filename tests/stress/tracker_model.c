/*
 * The tracker against a model, and the tracker against kill -9.
 *
 *	tracker_model [STEPS [KILLS [SEED]]]	default: 40000 400 1; with SEEN_LONG 100000 1000 1
 *
 * First part: random scopes, captures, viewers, writers, forgets, windows and clocks.  The model is
 * a plain list of what was given to whom, written from the documentation and not from the code.  It
 * is the judge: a notice is false unless the model knows a delivery of the very bytes, in that
 * scope and epoch, inside the window, by a command that kept to what its agent passes on (measured for
 * any version, assumed, or measured for another version), and not forgotten.  A
 * notice anywhere but at the capture is false too, and so is a second one to a model that asks again.
 * The converse is a sanity check: notices occur, and the tracker seldom misses one it might give.
 *
 * Second part: eight processes at random work while a ninth kills them at random moments.  Then
 * everything must still work, every call must have returned within its deadline, and every slot
 * must be writable again.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/support/support.h"
#include "tracker/process/attach.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

/* ---- a clock that can be put forward ---- */

static uint64_t clock_ahead_ns;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	long error = syscall(SYS_clock_gettime, clock, ret_time);
	if (error == 0 && clock == CLOCK_BOOTTIME) {
		uint64_t now = (uint64_t)ret_time->tv_sec * 1000000000u +
			       (uint64_t)ret_time->tv_nsec + clock_ahead_ns;
		ret_time->tv_sec = (time_t)(now / 1000000000u);
		ret_time->tv_nsec = (long)(now % 1000000000u);
	}
	return (int)error;
}

static uint64_t random_state;
static unsigned below(unsigned limit)
{
	return (unsigned)(next_random(&random_state) >> 33) % limit;
}
static bool chance(unsigned percent)
{
	return below(100) < percent;
}

/* ---- the model ---- */

enum { PATHS = 10, SCOPES = 3, CAPTURES = 5, OBJECTS = 1000000, DELIVERIES = 4096, FILES_MAX = 3 };

/* Size and seed identify bytes; equal seeds and sizes are equal bytes. */
struct bytes {
	uint32_t size;
	uint32_t seed;
	bool binary;
};

static struct bytes *objects; /* content of each inode that ever was, by the model's own numbers */
static int object_count;
static int at_path[PATHS]; /* object, -1: no file */

struct delivery { /* one whole file given to one scope */
	int scope, path, object;
	struct bytes bytes;
	uint64_t scope_epoch, session_epoch, request, total_bytes, time_ns;
	int command;
	bool dead;
	bool blocked[PATHS];
};
static struct delivery
	delivery[DELIVERIES]; /* a ring: older ones than that are far outside every window */
static unsigned delivery_count;

static struct {
	uint64_t id, epoch, requests, total_bytes;
	uint32_t profile;
	struct {
		uint64_t bytes, lines, line_bytes;
	} limit;         /* of what one command prints */
	bool is_version; /* of the agent that the limits were measured with */
} scopes[SCOPES];
enum { SCOPE_ASSUMED = 1, SCOPE_LINED = 2, LINED_BYTES = 32000, LINED_LINES = 400 };
static uint64_t session_epoch;

/* By the model's own numbers.  Of a measured one nothing is believed until it ended and said what it wrote. */
static struct {
	uint64_t bytes, newlines, line_bytes, longest; /* line_bytes: of the last line so far */
	bool measured, ended;
} * commands;
static int command_count;

static struct {
	uint64_t id;
	int scope, command; /* command -1: none began */
	int pipe[2];
	bool long_lived, measured;
	uint64_t last_ns;
} captures[CAPTURES];

/* How the model (of the agent) was last answered for a path: what asking again must bring. */
static struct {
	uint64_t notice, yield_until;
} answered[SCOPES][PATHS];

static struct {
	uint64_t requests, bytes, age_s, insist, min_bytes, max_bytes;
	bool yields, substitute;
} rules;

static struct world world;
static int saved_stdout, elsewhere[2];
static uint64_t step, notices, yields, contents, false_notices, deliveries_known, missed,
	repeats_due;

static uint64_t now_ns(void)
{
	return sys_boottime_ns();
}

static void complain(const char *what, int scope, int path)
{
	false_notices++;
	dprintf(2, "step %lu: FALSE NOTICE: %s (scope %d, path %d)\n", (unsigned long)step, what,
		scope, path);
}

static bool same_bytes(struct bytes a, struct bytes b)
{
	return a.size == b.size && a.seed == b.seed && a.binary == b.binary;
}

static void print_line(int command, uint64_t bytes, bool has_newline)
{
	commands[command].bytes += bytes + has_newline;
	commands[command].line_bytes += bytes;
	if (commands[command].longest < commands[command].line_bytes)
		commands[command].longest = commands[command].line_bytes;
	if (has_newline) {
		commands[command].newlines++;
		commands[command].line_bytes = 0;
	}
}

/* content_of(): lines of 40 bytes. */
static void print_file(int command, uint64_t bytes)
{
	for (; bytes >= 40; bytes -= 40)
		print_line(command, 39, true);
	print_line(command, bytes, false);
}

static bool is_passed_on(int command, int scope)
{
	uint64_t part = scope == SCOPE_LINED && !scopes[scope].is_version ? 2 : 1;
	return commands[command].bytes <= scopes[scope].limit.bytes / part &&
	       commands[command].newlines + (commands[command].line_bytes > 0) <=
		       scopes[scope].limit.lines / part &&
	       commands[command].longest <= scopes[scope].limit.line_bytes;
}

static bool still_counts(const struct delivery *one, int scope, int path, struct bytes bytes,
			 uint64_t request, int command)
{
	return !one->dead && !one->blocked[path] && one->scope == scope &&
	       same_bytes(one->bytes, bytes) && one->scope_epoch == scopes[scope].epoch &&
	       one->session_epoch == session_epoch && request >= one->request &&
	       request - one->request <= rules.requests &&
	       (!rules.bytes || scopes[scope].total_bytes - one->total_bytes <= rules.bytes) &&
	       /* the clock runs on between the tracker's reading of it and this one: a second of grace */
	       (!rules.age_s || now_ns() - one->time_ns <= (rules.age_s + 1) * 1000000000u) &&
	       is_passed_on(one->command, scope) &&
	       (!commands[one->command].measured || commands[one->command].ended ||
		one->command == command);
}

static bool was_given(int scope, int path, struct bytes bytes, uint64_t request, int command)
{
	for (unsigned i = 0; i < DELIVERIES && i < delivery_count; i++)
		if (still_counts(&delivery[i], scope, path, bytes, request, command))
			return true;
	return false;
}

/* Would the last time that this scope was given this path do?  What the tracker ought not to miss. */
static bool last_given_counts(int scope, int path, struct bytes bytes, uint64_t request,
			      int command)
{
	for (unsigned i = delivery_count; i > 0 && i + DELIVERIES > delivery_count; i--)
		if (delivery[(i - 1) % DELIVERIES].scope == scope &&
		    delivery[(i - 1) % DELIVERIES].path == path)
			return !commands[delivery[(i - 1) % DELIVERIES].command].measured &&
			       still_counts(&delivery[(i - 1) % DELIVERIES], scope, path, bytes,
					    request, command);
	return false;
}

static void unanswered(int path)
{
	for (int scope = 0; scope < SCOPES; scope++)
		if (path >= 0)
			memset(&answered[scope][path], 0, sizeof(answered[0][0]));
}

static void unanswered_all(void)
{
	memset(answered, 0, sizeof(answered));
}

/* ---- files ---- */

static const char *path_name(int path)
{
	static char names[PATHS][8];
	(void)snprintf(names[path], sizeof(names[0]), "%c/%d", 'a' + path % 2, path);
	return names[path];
}

static struct bytes some_bytes(void)
{
	static const uint32_t SIZES[] = { 300,   511,   512,   600,   2000,  4096, 8000,
					  15999, 16001, 23999, 24000, 24001, 30000 };
	return (struct bytes){ SIZES[chance(70) ? 2 + below(5) : below(13)], below(4), chance(3) };
}

static const char *content_of(struct bytes bytes)
{
	static char text[32768];
	for (uint32_t i = 0; i < bytes.size; i++)
		text[i] = i % 40 == 39 ? '\n'
				       : (char)('a' + (i / 40 + i * 7 + bytes.seed * 11) % 26);
	if (bytes.binary)
		text[bytes.size / 2] = '\0';
	return text;
}

static void store_in_place(int path, struct bytes bytes)
{
	write_path(world_path(&world, path_name(path)), content_of(bytes), bytes.size);
	if (at_path[path] < 0) {
		must(object_count < OBJECTS);
		at_path[path] = object_count++;
	}
	objects[at_path[path]] = bytes;
	unanswered_all(); /* the object may have other names behind it: keep it simple */
}

static void store_by_rename(int path, struct bytes bytes)
{
	const char *temporary = world_path(&world, "a/.tmp");
	write_path(temporary, content_of(bytes), bytes.size);
	must(rename(temporary, world_path(&world, path_name(path))) == 0);
	must(object_count < OBJECTS);
	at_path[path] = object_count++;
	objects[at_path[path]] = bytes;
	unanswered(path);
}

/* A store through a shared mapping, then the times put back: stat tells nothing of it but ctime. */
static void store_by_mapping(int path)
{
	struct stat stat;
	struct bytes bytes = objects[at_path[path]];
	int fd = open(world_path(&world, path_name(path)), O_RDWR | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &stat) == 0);
	char *map = mmap(NULL, bytes.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED);
	bytes.seed = (bytes.seed + 1) % 4;
	memcpy(map, content_of(bytes), bytes.size);
	must(futimens(fd, (struct timespec[2]){ stat.st_atim, stat.st_mtim }) == 0);
	must(munmap(map, bytes.size) == 0 && close(fd) == 0);
	objects[at_path[path]] = bytes;
	unanswered_all();
}

static void write_something(int path)
{
	bool exists = at_path[path] >= 0;
	struct bytes bytes = exists ? objects[at_path[path]] : some_bytes();
	switch (below(10)) {
	case 0:
		store_in_place(path, some_bytes());
		break;
	case 1: /* another content of equal size */
		bytes.seed = (bytes.seed + 1 + below(3)) % 4;
		store_in_place(path, bytes);
		break;
	case 2: /* the same bytes */
		store_in_place(path, bytes);
		break;
	case 3:
		store_by_rename(path, chance(50) ? bytes : some_bytes());
		break;
	case 4:
		if (exists)
			store_by_mapping(path);
		break;
	case 5: /* touch */
		if (exists)
			must(utimensat(AT_FDCWD, world_path(&world, path_name(path)), NULL, 0) ==
			     0);
		break;
	case 6: { /* rename over another */
		int other = (int)below(PATHS);
		if (exists && other != path) {
			if (at_path[other] == at_path[path]) /* rename does nothing then */
				must(unlink(world_path(&world, path_name(other))) == 0);
			must(rename(world_path(&world, path_name(path)),
				    world_path(&world, path_name(other))) == 0);
			at_path[other] = at_path[path];
			at_path[path] = -1;
			unanswered(path);
			unanswered(other);
		}
		break;
	}
	case 7:
		if (exists) {
			must(unlink(world_path(&world, path_name(path))) == 0);
			at_path[path] = -1;
			unanswered(path);
		}
		break;
	case 8: /* delete and make again, the same bytes: the inode's number may come back */
		if (exists)
			must(unlink(world_path(&world, path_name(path))) == 0);
		at_path[path] = -1;
		store_in_place(path, bytes);
		break;
	case 9: { /* another name for it */
		int other = (int)below(PATHS);
		if (exists && other != path) {
			if (at_path[other] >= 0)
				must(unlink(world_path(&world, path_name(other))) == 0);
			must(link(world_path(&world, path_name(path)),
				  world_path(&world, path_name(other))) == 0);
			at_path[other] = at_path[path];
			unanswered(other);
		}
		break;
	}
	}
}

/* ---- forgetting ---- */

/* A read under way; forgets that touch it are noted. */
struct reading {
	struct viewed_file view;
	int path, object;
	struct bytes bytes; /* asked for */
	bool invalidated;
	bool blocked[PATHS];
	bool undone;
};
static struct reading reading[FILES_MAX];
static int reading_count, reading_scope = -1;

static void forget_something(void)
{
	int scope = (int)below(SCOPES), path = (int)below(PATHS);
	switch (below(6)) {
	case 0:
		must(tracker_forget_all(&world.segment, 0) == 0);
		session_epoch++;
		unanswered_all();
		break;
	case 1:
		must(tracker_forget_all(&world.segment, scopes[scope].id) == 0);
		scopes[scope].epoch++;
		unanswered_all();
		break;
	default: {
		bool all = chance(40);
		(void)tracker_forget(&world.segment, all ? 0 : scopes[scope].id,
				     world_path(&world, path_name(path)));
		for (unsigned i = 0; i < DELIVERIES && i < delivery_count; i++) {
			if (!all && delivery[i].scope != scope)
				continue;
			if (delivery[i].path == path)
				delivery[i].dead = true;
			else if (at_path[path] >= 0 && delivery[i].object == at_path[path])
				delivery[i].blocked[path] = true;
		}
		for (int i = 0; i < reading_count; i++) {
			if (!all && reading_scope != scope)
				continue;
			if (reading[i].path == path)
				reading[i].invalidated = true;
			else if (at_path[path] >= 0 && reading[i].object == at_path[path])
				reading[i].blocked[path] = true;
		}
		unanswered_all();
	}
	}
}

/* ---- captures ---- */

/* What this process, which stands for every shell, has written: the model's own record of it. */
static uint64_t written_by_us(void)
{
	char text[512];
	must(sys_read_file("/proc/self/io", text, sizeof(text)) > 0);
	const char *at = strstr(text, "wchar: ");
	return at ? strtoull(at + 7, NULL, 10) : 0;
}

static struct command_slot *slot_of_command(uint64_t id)
{
	return segment_slot(&world.segment, TABLE_COMMANDS,
			    id % world.segment.capacity[TABLE_COMMANDS]);
}

static void new_capture(int index)
{
	if (captures[index].id) {
		int command = captures[index].command;
		must(dup2(captures[index].pipe[1], 1) == 1);
		if (captures[index].measured && command >= 0 &&
		    chance(75)) { /* else the shell was killed */
			uint64_t id = ((struct capture_slot *)segment_slot(
					       &world.segment, TABLE_CAPTURES,
					       captures[index].id %
						       world.segment.capacity[TABLE_CAPTURES]))
					      ->command_id;
			/* what our own writers wrote meanwhile is no output of that command */
			slot_of_command(id)->base_bytes = written_by_us() - commands[command].bytes;
			capture_finish(&world.segment, SUBJECT_SELF, captures[index].id);
			commands[command].ended = true;
		}
		must(close(captures[index].pipe[0]) == 0 && close(captures[index].pipe[1]) == 0);
	}
	must(pipe2(captures[index].pipe, O_CLOEXEC) == 0);
	captures[index].scope = (int)below(SCOPES);
	captures[index].command = -1;
	captures[index].long_lived = chance(40);
	captures[index].measured = !captures[index].long_lived && chance(50);
	must(dup2(captures[index].pipe[1], 1) == 1);
	struct context context = {
		.flags = CONTEXT_ATTACHED | CONTEXT_AGENT | CONTEXT_AGENT_OUT | CONTEXT_ROOT_OUT,
		.scope_id = scopes[captures[index].scope].id,
		.profile = scopes[captures[index].scope].profile,
	};
	captures[index].id = capture_claim(&world.segment, SUBJECT_SELF, &context,
					   captures[index].long_lived);
	must(captures[index].id != 0);
	struct capture_slot copy;
	struct capture_slot *slot = segment_slot(&world.segment, TABLE_CAPTURES,
						 captures[index].id %
							 world.segment.capacity[TABLE_CAPTURES]);
	must(slot_acquire(slot, &copy, CAPTURE_CHECKED_BYTES));
	captures[index].measured = captures[index].measured && copy.measured;
	copy.measured = captures[index].measured;
	slot_commit(slot, &copy, CAPTURE_CHECKED_BYTES);
}

static int new_command(int capture)
{
	must(command_count < OBJECTS);
	memset(&commands[command_count], 0, sizeof(commands[0]));
	commands[command_count].measured = captures[capture].measured;
	return command_count++;
}

/* ---- a viewer ---- */

/* One process at a capture: `cat` of some files, its output perhaps redirected.  Returns whether the last file
 * was answered by a notice. */
static bool view_files(int capture, const int *paths, int count, bool redirected, bool is_viewer)
{
	int scope = captures[capture].scope;
	struct request request = {
		.context = { .flags = CONTEXT_ATTACHED | CONTEXT_AGENT,
			     .role = ROLE_VIEWER,
			     .scope_id = scopes[scope].id,
			     .profile = scopes[scope].profile,
			     .capture_id = captures[capture].id },
		.is_viewer = is_viewer,
	};
	bool noticed = false;
	int command = -1;
	struct scope_slot *slot = scope_find(&world.segment, scopes[scope].id);

	must(slot != NULL);
	must(dup2(redirected ? elsewhere[1] : captures[capture].pipe[1], 1) == 1);
	request.number = scope_request(&world.segment, scopes[scope].id);
	must(request.number == ++scopes[scope].requests);
	request.at_sink = capture_is_sink(&world.segment, SUBJECT_SELF, captures[capture].id);
	must(!(request.at_sink && redirected));
	if (request.at_sink) {
		request.command_id = capture_command(&world.segment, captures[capture].id);
		/* a pause of more than a second ends a command of a long-lived shell */
		if (captures[capture].command < 0 ||
		    (captures[capture].long_lived &&
		     now_ns() - captures[capture].last_ns > 900000000u))
			captures[capture].command = new_command(capture);
		captures[capture].last_ns = now_ns();
		command = captures[capture].command;
		if (captures[capture].measured && request.command_id)
			slot_of_command(request.command_id)->base_bytes = written_by_us() -
									  commands[command].bytes;
	}

	reading_count = 0;
	reading_scope = scope;
	for (int i = 0; i < count; i++) {
		int path = paths[i];
		if (at_path[path] < 0)
			continue;
		struct reading *one = &reading[reading_count++];
		memset(one, 0, sizeof(*one));
		one->path = path;
		one->object = at_path[path];
		one->bytes = objects[at_path[path]];
		bool due = was_given(scope, path, one->bytes, request.number, command);
		enum decision decision = open_view(&world, &request, path_name(path), &one->view);
		noticed = decision == DECISION_NOTICE;
		bool eligible = due && !redirected && is_viewer && rules.substitute &&
				!one->bytes.binary && one->bytes.size >= rules.min_bytes &&
				one->bytes.size <= rules.max_bytes;
		bool expected = eligible &&
				last_given_counts(scope, path, one->bytes, request.number, command);
		repeats_due += expected;
		missed += expected && decision == DECISION_CONTENT;
		if (decision == DECISION_NOTICE) {
			notices++;
			if (redirected)
				complain("not at the capture", scope, path);
			else if (!due)
				complain("these bytes were not given", scope, path);
			else if (!eligible)
				complain("not allowed", scope, path);
			if (one->view.answer.notice_bytes >= one->bytes.size)
				complain("not shorter", scope, path);
			if (rules.yields) {
				uint64_t last = answered[scope][path].notice;
				if ((last && request.number - last <= rules.insist) ||
				    request.number <= answered[scope][path].yield_until)
					complain("the model asked again", scope, path);
			}
			answered[scope][path].notice = request.number;
			answered[scope][path].yield_until = 0;
			if (chance(4)) { /* could not be given: the real bytes after all */
				decision_undo(&world.segment, &request, &one->view.answer);
				memset(&answered[scope][path], 0, sizeof(answered[0][0]));
				one->view.answer.decision = DECISION_CONTENT;
				one->view.is_pending = decision_pend(&world.segment, &request,
								     one->view.path,
								     &one->view.stat,
								     &one->view.answer,
								     &one->view.pending) == 0;
				notices--;
			}
		} else if (decision == DECISION_GIVEN_AGAIN) {
			yields++;
			if (!due || !eligible)
				complain("given again without cause", scope, path);
			if (answered[scope][path]
				    .notice) /* else it began before the model lost sight of it */
				answered[scope][path].yield_until = request.number + rules.insist;
			answered[scope][path].notice = 0;
		} else {
			contents++;
		}
	}
	/* While it reads: others write and forget. */
	if (chance(8))
		write_something((int)below(PATHS));
	if (chance(4))
		forget_something();
	if (chance(3) && reading_count > 0)
		write_something(reading[0].path);

	bool dies = chance(5), partial = chance(5);
	struct shape sent = { 0 };
	for (int i = 0; request.at_sink && i < reading_count; i++) {
		if (reading[i].view.answer.decision == DECISION_NOTICE) {
			uint64_t bytes = reading[i].view.answer.notice_bytes;
			shape_add(&sent, reading[i].view.answer.notice, bytes);
			print_line(command, bytes - 1, true);
		} else {
			struct bytes bytes = objects[reading[i].object];
			shape_add(&sent, content_of(bytes), bytes.size);
			print_file(command, bytes.size);
		}
	}
	if (request.at_sink) {
		command_add(&world.segment, request.command_id, NULL, &sent);
		(void)__atomic_fetch_add(&slot->bytes_given, sent.bytes, __ATOMIC_RELAXED);
		scopes[scope].total_bytes += sent.bytes;
		captures[capture].last_ns = now_ns();
	}
	for (int i = 0; i < reading_count; i++) {
		struct reading *one = &reading[i];
		if (one->view.answer.decision != DECISION_NOTICE && !dies) {
			struct content content;
			struct stat stat;
			must(content_of_descriptor(one->view.fd, UINT64_MAX, &content) == 0 &&
			     fstat(one->view.fd, &stat) == 0);
			must(content.version.size_bytes == objects[one->object].size);
			struct stamp stamp = stamp_of(&stat);
			if (partial)
				content.version = version_of_bytes(content_of(objects[one->object]),
								   objects[one->object].size - 1);
			if (one->view.is_pending)
				decision_deliver(&world.segment, &request, &one->view.pending,
						 &stamp, &content.version, &one->view.delivered);
			if (request.at_sink && !partial && !one->invalidated) {
				struct delivery *entry = &delivery[delivery_count++ % DELIVERIES];
				*entry = (struct delivery){
					.scope = scope,
					.path = one->path,
					.object = one->object,
					.bytes = objects[one->object],
					.scope_epoch = scopes[scope].epoch,
					.session_epoch = session_epoch,
					.request = request.number,
					.total_bytes = scopes[scope].total_bytes,
					.time_ns = now_ns(),
					.command = command,
				};
				memcpy(entry->blocked, one->blocked, sizeof(entry->blocked));
				deliveries_known++;
			}
		}
		must(close(one->view.fd) == 0);
	}
	reading_count = 0;
	reading_scope = -1;
	return noticed;
}

/* A forget of a whole epoch while a read is under way must count: what was read in the old one is no delivery. */
static void set_rules(void)
{
	static const uint64_t REQUESTS[] = { 1, 5, 50, 50, 200 },
			      BYTES[] = { 0, 20000, 100000, 400000 };
	rules.requests = REQUESTS[below(5)];
	rules.bytes = BYTES[below(4)];
	rules.age_s = chance(30) ? 300 : 0;
	rules.insist = chance(30) ? 1 : 10;
	rules.min_bytes = chance(20) ? 4000 : 512;
	rules.max_bytes = chance(20) ? 8000 : 24000;
	rules.yields = chance(75);
	rules.substitute = chance(95);
	world.settings->window_requests = rules.requests;
	world.settings->window_bytes = rules.bytes;
	world.settings->window_age_s = rules.age_s;
	world.settings->notice_insist_requests = rules.insist;
	world.settings->notice_min_bytes = rules.min_bytes;
	world.settings->notice_max_bytes = rules.max_bytes;
	world.settings->notice_yield = rules.yields ? NOTICE_YIELD_INSIST : NOTICE_YIELD_NEVER;
	world.settings->session_mode = rules.substitute ? SESSION_MODE_SUBSTITUTE
							: SESSION_MODE_OBSERVE;
	unanswered_all();
}

static uint32_t profile_named(const char *name)
{
	for (uint64_t i = 0; i < world.settings->profile_count; i++) {
		const char *at = segment_text(&world.segment, world.settings->profiles[i].name,
					      NULL);
		if (at && strcmp(at, name) == 0)
			return (uint32_t)i + 1;
	}
	abort();
}

/* The version of an agent is found out, or another one goes on with the scope. */
static void change_version(void)
{
	bool is_version = !scopes[SCOPE_LINED].is_version;
	must(scope_set_flags(&world.segment, scopes[SCOPE_LINED].id, SCOPE_VERSION,
			     is_version ? SCOPE_VERSION : 0) == 0);
	scopes[SCOPE_LINED].is_version = is_version;
	unanswered_all();
}

static void part_one(uint64_t steps)
{
	struct timespec began, ended;

	world_open(&world, "session.commands=256", "agent plain.max_output_bytes=16000",
		   "agent lined.measured=1.0", "agent lined.max_output_bytes=32000",
		   "agent lined.max_output_lines=400", NULL);
	must(mkdir(world_path(&world, "a"), 0700) == 0 &&
	     mkdir(world_path(&world, "b"), 0700) == 0);
	objects = calloc(OBJECTS, sizeof(*objects));
	commands = calloc(OBJECTS, sizeof(*commands));
	must(objects && commands);
	must(pipe2(elsewhere, O_CLOEXEC) == 0);
	for (int i = 0; i < PATHS; i++) {
		at_path[i] = -1;
		store_in_place(i, some_bytes());
	}
	for (int i = 0; i < SCOPES; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "s%d", i);
		scopes[i].profile = i == SCOPE_ASSUMED ? profile_named("plain")
				    : i == SCOPE_LINED ? profile_named("lined")
						       : world.profile;
		scopes[i].id = scope_id_of((uint64_t)i + 1, name);
		scopes[i].limit.bytes = i == SCOPE_ASSUMED ? ASSUMED_BYTES
					: i == SCOPE_LINED ? LINED_BYTES
							   : SETTINGS_MAX_OUTPUT_BYTES;
		scopes[i].limit.lines = i == SCOPE_ASSUMED ? ASSUMED_LINES
					: i == SCOPE_LINED ? LINED_LINES
							   : UINT64_MAX;
		scopes[i].limit.line_bytes = i == SCOPE_ASSUMED ? ASSUMED_LINE_BYTES : UINT64_MAX;
		must(scope_claim(&world.segment, scopes[i].id, NULL, 1, scopes[i].profile, name) !=
		     NULL);
	}
	for (int i = 0; i < CAPTURES; i++)
		new_capture(i);
	must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &began) == 0);
	for (step = 0; step < steps; step++) {
		if (step % 2000 == 0)
			set_rules();
		if (step % 500 == 499)
			change_version();
		unsigned what = below(100);
		if (what < 62) {
			int capture = (int)below(CAPTURES), paths[FILES_MAX], count = 0;
			for (unsigned wanted = chance(75) ? 1 : 1 + below(FILES_MAX); wanted > 0;
			     wanted--) {
				int path = (int)below(chance(60) ? 3 : PATHS);
				bool twice = false;
				for (int i = 0; i < count; i++)
					twice = twice || paths[i] == path;
				if (!twice)
					paths[count++] = path;
			}
			bool noticed = view_files(capture, paths, count, chance(12), !chance(5));
			/* Another conversation in that scope cannot know what was meant: it asks once more. */
			if (noticed && chance(50))
				(void)view_files(capture, &paths[count - 1], 1, false, true);
		} else if (what < 74) {
			write_something((int)below(PATHS));
		} else if (what < 77) {
			forget_something();
		} else if (what < 96) {
			new_capture((int)below(CAPTURES));
		} else if (what < 98) {
			clock_ahead_ns += chance(80) ? 2000000000u : 299000000000u;
		} else {
			/* a reader: its bytes count, for the command and for the window */
			int capture = (int)below(CAPTURES);
			if (captures[capture].command >= 0) {
				uint64_t bytes = below(20000);
				must(dup2(captures[capture].pipe[1], 1) == 1);
				uint64_t id = capture_command(&world.segment, captures[capture].id);
				if (captures[capture].long_lived &&
				    now_ns() - captures[capture].last_ns > 900000000u)
					captures[capture].command = new_command(capture);
				captures[capture].last_ns = now_ns();
				sends(&world.segment, id, bytes);
				if (bytes)
					print_line(captures[capture].command, bytes - 1, true);
				int scope = captures[capture].scope;
				scope_find(&world.segment, scopes[scope].id)->bytes_given += bytes;
				scopes[scope].total_bytes += bytes;
			}
		}
	}
	must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ended) == 0);
	must(dup2(saved_stdout, 1) == 1);
	double seconds = (double)(ended.tv_sec - began.tv_sec) +
			 (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
	printf("model: %lu steps in %.1f s, %lu deliveries, %lu contents, %lu yields, %lu repeats "
	       "due, %lu of them missed\n",
	       (unsigned long)steps, seconds, (unsigned long)deliveries_known,
	       (unsigned long)contents, (unsigned long)yields, (unsigned long)repeats_due,
	       (unsigned long)missed);
	must(segment_counter(&world.segment, COUNTER_notices) == notices);
	world_close(&world);
	free(objects);
	free(commands);
	clock_ahead_ns = 0;
}

/* ---- kill -9 ---- */

/* Of a call: processor time of its process, and, for one that sleeps, the clock's, whatever else the machine does. */
enum { WORKERS = 8, DEADLINE_MS = 5000, SLEEP_DEADLINE_MS = 60000, SHARED_FILES = 24 };

struct pulse {
	uint64_t began_ns; /* of the call under way, 0: none */
	uint64_t began_processor_ns;
	uint64_t calls;
	uint64_t died_inside;
};
static struct pulse *pulses;

static uint64_t processor_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || syscall(SYS_clock_gettime, clock, &time) != 0)
		return 0; /* it has ended */
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool is_late(const struct pulse *pulse, pid_t pid)
{
	uint64_t began = __atomic_load_n(&pulse->began_ns, __ATOMIC_ACQUIRE),
		 processor = __atomic_load_n(&pulse->began_processor_ns, __ATOMIC_RELAXED),
		 now = now_ns(), spent = processor_ns(pid);

	if (!began || __atomic_load_n(&pulse->began_ns, __ATOMIC_ACQUIRE) != began)
		return false;
	return (spent > processor && spent - processor > DEADLINE_MS * 1000000ull) ||
	       (now > began && now - began > SLEEP_DEADLINE_MS * 1000000ull);
}

#define TIMED(call) \
	do { \
		__atomic_store_n(&pulse->began_processor_ns, processor_ns(0), __ATOMIC_RELAXED); \
		__atomic_store_n(&pulse->began_ns, now_ns(), __ATOMIC_RELEASE); \
		call; \
		__atomic_store_n(&pulse->began_ns, 0, __ATOMIC_RELAXED); \
		pulse->calls++; \
	} while (0)

/* The tables that follow the slot protocol. */
static const struct {
	enum segment_table table;
	size_t bytes;
} TABLES[] = {
	{ TABLE_PROCESSES, PROCESS_CHECKED_BYTES },
	{ TABLE_SCOPES, SCOPE_CHECKED_BYTES },
	{ TABLE_CAPTURES, CAPTURE_CHECKED_BYTES },
	{ TABLE_FILES, sizeof(struct file_slot) },
	{ TABLE_INODES, sizeof(struct inode_slot) },
	{ TABLE_DELIVERIES, sizeof(struct delivery_slot) },
};

/* Dies while it writes: takes any slot, puts some words of nonsense into it, and is killed. */
static void die_inside(struct pulse *pulse)
{
	unsigned table = below(sizeof(TABLES) / sizeof(TABLES[0]));
	uint64_t copy[64];
	uint64_t *slot = segment_slot(&world.segment, TABLES[table].table,
				      below((unsigned)world.segment.capacity[TABLES[table].table]));
	if (!slot_acquire(slot, copy, TABLES[table].bytes))
		return;
	for (size_t i = 1; i < TABLES[table].bytes / 8; i++)
		if (chance(50))
			__atomic_store_n(&slot[i],
					 chance(50) ? next_random(&random_state) : copy[i],
					 __ATOMIC_RELAXED);
	pulse->died_inside++;
	must(kill(getpid(), SIGKILL) == 0);
}

static void work(struct pulse *pulse, uint64_t seed)
{
	static char shell[] = "bash", dash_c[] = "-c", line[] = "x";
	char *const argv[] = { shell, dash_c, line, NULL };
	char name[32], ticket[TICKET_BYTES];
	int pipes[2];

	random_state = seed;
	must(pipe(pipes) == 0 && dup2(pipes[1], 1) == 1);
	struct context context = {
		.flags = CONTEXT_ATTACHED | CONTEXT_AGENT | CONTEXT_AGENT_OUT | CONTEXT_ROOT_OUT,
		.role = ROLE_SHELL,
	};
	struct context claimed;
	for (;;) {
		(void)snprintf(name, sizeof(name), "k%u", below(SHARED_FILES));
		uint64_t scope = scope_id_of(1 + below(3), NULL);
		context.scope_id = scope;
		if (below(500) == 0)
			die_inside(pulse);
		switch (below(10)) {
		case 0:
			TIMED(world_cat(&world, scope, name));
			break;
		case 1:
			TIMED((void)tracker_forget(&world.segment, below(2) ? scope : 0,
						   world_path(&world, name)));
			break;
		case 2:
			TIMED((void)tracker_forget_all(&world.segment, below(50) ? scope : 0));
			break;
		case 3: {
			struct stamp stamp = { .dev = 1, .ino = below(1000) };
			/* Each time that a slot is given away takes room for a path, for good: some must be left. */
			if (world.segment.header->arena_used > world.segment.arena_bytes / 2)
				break;
			(void)snprintf(name, sizeof(name), "virtual%u", below(1000));
			TIMED((void)file_update(&world.segment, world_path(&world, name), &stamp,
						NULL, NULL));
			break;
		}
		case 4: {
			struct version version = { 1, 2, below(1000) };
			struct moment moment = moment_now(&world.segment, scope, 1, 0, 1);
			TIMED((void)delivery_record(&world.segment, 1 + below(1000), &version,
						    &moment));
			break;
		}
		case 5: {
			struct process_ref self = { 0, 0 }, ref;
			TIMED(ref = process_announce(&world.segment, SUBJECT_SELF, &context, self,
						     getpid(), "/bin/bash", argv, ticket));
			if (below(2))
				TIMED(process_exit(&world.segment, ref));
			else
				TIMED(process_withdraw(&world.segment, ref));
			break;
		}
		case 6: {
			struct invocation invocation = { .role = ROLE_SHELL, .runs_command = true };
			struct process_ref ref;
			TIMED(ref = process_attach(&world.segment, SUBJECT_SELF, NULL, false,
						   &invocation, NULL, SESSION_AGENT_IS_INSIDE,
						   &claimed));
			TIMED(process_exit(&world.segment, ref));
			break;
		}
		case 7: {
			uint64_t id;
			TIMED(id = capture_claim(&world.segment, SUBJECT_SELF, &context, below(2)));
			TIMED(sends(&world.segment, capture_command(&world.segment, id),
				    below(5000)));
			break;
		}
		case 8:
			TIMED((void)scope_claim(&world.segment, scope_id_of(1 + below(40), NULL),
						NULL, 1, 0, "agent"));
			break;
		case 9:
			TIMED((void)world_is_delivered(&world, scope, name));
			break;
		}
	}
}

static pid_t start_work(int index, uint64_t seed)
{
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0)
		work(&pulses[index], seed);
	return pid;
}

/* Every slot that follows the protocol can be written and read. */
static unsigned unusable_slots(void)
{
	unsigned bad = 0;
	for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++)
		for (uint64_t k = 0; k < world.segment.capacity[TABLES[i].table]; k++) {
			uint64_t copy[64];
			void *slot = segment_slot(&world.segment, TABLES[i].table, k);
			bool held = slot_acquire(slot, copy, TABLES[i].bytes);
			if (held)
				slot_commit(slot, copy, TABLES[i].bytes);
			bad += !held || !slot_read(slot, copy, TABLES[i].bytes);
		}
	return bad;
}

static void part_two(uint64_t kills)
{
	pid_t pids[WORKERS];
	uint64_t late = 0, uneven = 0, inside = 0;
	char ticket[TICKET_BYTES], name[32];
	static char cat[] = "cat";
	char *const argv[] = { cat, NULL };

	world_open(&world, "session.commands=64", "session.files=128", "session.deliveries=128",
		   "session.scopes=16", NULL);
	pulses = mmap(NULL, sizeof(*pulses) * WORKERS, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(pulses != MAP_FAILED);
	for (unsigned i = 0; i < SHARED_FILES; i++) {
		(void)snprintf(name, sizeof(name), "k%u", i);
		world_fill(&world, name, 1000, i);
	}
	for (int i = 0; i < WORKERS; i++)
		pids[i] = start_work(i, 1000 + (uint64_t)i);
	for (uint64_t done = 0; done < kills; done++) {
		int victim = (int)below(WORKERS), status;
		usleep(200 + below(2500));
		for (int i = 0; i < WORKERS; i++)
			late += is_late(&pulses[i], pids[i]);
		must(kill(pids[victim], SIGKILL) == 0);
		must(waitpid(pids[victim], &status, 0) == pids[victim]);
		must(WIFSIGNALED(status) &&
		     WTERMSIG(status) == SIGKILL); /* it did not crash before */
		pulses[victim].began_ns = 0;
		pids[victim] = start_work(victim, done * 7919 + 17);
		for (int i = 0; i < WORKERS; i++) /* those that died by themselves */
			if (waitpid(pids[i], &status, WNOHANG) == pids[i]) {
				must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
				pulses[i].began_ns = 0;
				pids[i] = start_work(i, done * 104729 + (uint64_t)i);
			}
	}
	uint64_t calls = 0;
	for (int i = 0; i < WORKERS; i++) {
		int status;
		must(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], &status, 0) == pids[i]);
		must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		calls += pulses[i].calls;
		inside += pulses[i].died_inside;
	}
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_FILES]; i++)
		uneven += ((struct file_slot *)segment_slot(&world.segment, TABLE_FILES, i))
				  ->head.sequence &
			  1;
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_DELIVERIES]; i++)
		uneven += ((struct delivery_slot *)segment_slot(&world.segment, TABLE_DELIVERIES,
								i))
				  ->head.sequence &
			  1;

	/* The session goes on. */
	struct segment other;
	must(segment_map(world.file, &other) == 0);
	segment_unmap(&other);
	uint64_t scope = scope_id_of(77, NULL), began = processor_ns(0);
	must(scope_claim(&world.segment, scope, NULL, 1, 0, "after") != NULL);
	for (unsigned i = 0; i < SHARED_FILES; i++) {
		(void)snprintf(name, sizeof(name), "k%u", i);
		must(world_cat(&world, scope, name) == DECISION_CONTENT);
		must(world_cat(&world, scope, name) == DECISION_NOTICE);
		must(world_cat(&world, scope, name) == DECISION_GIVEN_AGAIN);
		must(tracker_forget(&world.segment, 0, world_path(&world, name)) == 0);
		must(!world_is_delivered(&world, scope, name));
	}
	struct context context = { .flags = CONTEXT_ATTACHED };
	for (int i = 0; i < 200; i++) {
		struct process_ref ref = process_announce(&world.segment, SUBJECT_SELF, &context,
							  (struct process_ref){ 0, 0 }, getpid(),
							  "/bin/cat", argv, ticket);
		must(ref.serial != 0);
		process_exit(&world.segment, ref);
	}
	unsigned bad = unusable_slots();
	must(processor_ns(0) - began < DEADLINE_MS * 1000000ull);
	printf("kills: %lu of 8 workers, %lu calls, %lu later than %d ms, %lu died inside a slot, "
	       "%lu slots left half-written, "
	       "%u unusable\n",
	       (unsigned long)kills, (unsigned long)calls, (unsigned long)late, DEADLINE_MS,
	       (unsigned long)inside, (unsigned long)uneven, bad);
	must(late == 0 && bad == 0);
	(void)munmap(pulses, sizeof(*pulses) * WORKERS);
	world_close(&world);
}

int main(int argc, char **argv)
{
	bool is_long = getenv("SEEN_LONG") != NULL;
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : is_long ? 100000 : 40000;
	uint64_t kills = argc > 2 ? strtoull(argv[2], NULL, 10) : is_long ? 1000 : 400;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;

	printf("seed %lu\n", (unsigned long)seed);
	(void)fflush(stdout);
	random_state = seed * 0x9e3779b97f4a7c15u | 1;
	saved_stdout = fcntl(1, F_DUPFD_CLOEXEC, 10);
	must(saved_stdout >= 0);
	must(steps <= OBJECTS / 4);
	part_one(steps);
	(void)fflush(stdout);
	if (kills)
		part_two(kills);
	bool enough = steps < 20000 || (notices >= steps / 50 && missed * 20 <= repeats_due);
	printf("tracker_model: steps %lu, notices %lu, false notices %lu, kills %lu: %s\n",
	       (unsigned long)steps, (unsigned long)notices, (unsigned long)false_notices,
	       (unsigned long)kills,
	       false_notices ? "FAILED"
	       : !enough     ? "FAILED: too few notices"
			     : "ok");
	return false_notices || !enough ? 1 : 0;
}
