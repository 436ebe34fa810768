/*
 * Makes a journal as a session leaves one, of any length: what report, export and their consumers are tested with.
 *
 * usage: journal_maker FILE COUNT [--seed N] [--hostile] [--seal] [--workspace DIR]
 *
 * The journal has COUNT events (those that `seen log` shows; texts come on top).  An agent works: it views files by `bash -c
 * 'cat ...'`, searches, builds, edits, installs packages, commits; a user edits beside it; now and then it reads a secret,
 * writes outside the workspace or to a pipeline's configuration.  Which file is next follows Zipf's law over some thousand; the
 * times rise over eight hours; each run ends with what it did not observe.  All that an event refers to (process, directory,
 * announcement, earlier version) is there before it, as in a session's own journal.
 *
 * The same arguments to the same build always make the same events.  --hostile: a quarter of the files have names chosen
 * to deceive.  --seal: as `seen run` does at the end of a run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/journal/seal.h"
#include "config/settings.h"
#include "tests/bench/journal_files.h"
#include "tests/support/support.h"
#include "tracker/content/contents.h"
#include "tracker/guard/guard.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/role.h"
#include "tracker/segment/tables.h"

enum {
	TAIL = 4, /* events that end a run */
	RUN_EVENTS = 250000,
	HOURS = 8,
	PID_FIRST = 1000,
};

static const uint64_t MAX_BYTES = UINT64_C(16) << 30;
static const uint64_t BEGIN_NS = UINT64_C(1763366400000000000); /* 2025-11-17T08:00:00Z */

struct process {
	uint64_t number;
	uint32_t pid, parent_pid;
	enum role role;
	const char *executable;
};

static struct journal journal;
static const char *workspace = "/home/user/project";
static uint64_t wanted, allowed, written, now_ns, serial = 100;
static uint32_t pid = PID_FIRST;
static uint64_t scope_id, epoch;
static struct process agent;
static struct {
	uint64_t observed, opens, unobserved;
} run;

/* ---- records ---- */

static bool is_full(void)
{
	return written >= allowed;
}

static uint32_t text(const char *bytes)
{
	uint32_t number = journal_text(&journal, bytes, strlen(bytes), true);
	must(number != 0);
	return number;
}

/* Arguments, each ended by NUL. */
static uint32_t arguments(const char *first, ...)
{
	char bytes[JOURNAL_TEXT_BYTES_MAX];
	size_t length = 0;
	va_list list;

	va_start(list, first);
	for (const char *word = first; word; word = va_arg(list, const char *)) {
		size_t size = strlen(word) + 1;
		if (length + size > 4096)
			break;
		memcpy(bytes + length, word, size);
		length += size;
	}
	va_end(list);
	return journal_text(&journal, bytes, length, true);
}

/* Everything comes through here: the one place that counts, and moves the clock. */
static uint32_t append(const struct process *process, struct journal_record record,
		       const void *details, size_t size)
{
	static const uint64_t LENGTH_NS = (uint64_t)HOURS * 3600 * 1000000000;
	uint64_t step = LENGTH_NS / wanted;

	if (is_full())
		return 0;
	/* Much at once, then a pause while the model thinks. */
	now_ns += 1 + (percent(2) ? chance() % (step * 80 + 1) : chance() % (step * 2 / 5 + 1));
	record.time_realtime_ns = now_ns;
	if (process) {
		record.process = (uint32_t)process->number;
		if (!record.tid)
			record.tid = process->pid;
	}
	written++;
	uint32_t number = journal_write(&journal, &record, details, size, true);
	must(number != 0);
	return number;
}

static uint32_t append_plain(const struct process *process, struct journal_record record)
{
	return append(process, record, NULL, 0);
}

static struct journal_record of_file(enum journal_op op, const struct file *file)
{
	struct journal_record record = journal_blank(op);
	record.path = text(file->path);
	if (file->path[0] != '/')
		record.directory = text(workspace);
	return record;
}

/* A file of which the tracker itself speaks: by its absolute path. */
static struct journal_record of_known(enum journal_op op, const struct file *file)
{
	char path[NAME_BYTES + 256];
	struct journal_record record = journal_blank(op);
	if (file->path[0] == '/')
		(void)snprintf(path, sizeof(path), "%s", file->path);
	else
		(void)snprintf(path, sizeof(path), "%s/%s", workspace, file->path);
	record.path = text(path);
	record.marks = JOURNAL_DETAILS;
	return record;
}

static uint32_t append_known(const struct process *process, struct journal_record record,
			     const struct file *file, const struct version *before,
			     const struct version *after)
{
	struct journal_details details = { .dev = 2049,
					   .ino = file->ino,
					   .size_bytes = file->size_bytes };
	record.marks |= JOURNAL_DETAILS;
	if (before)
		details.before = *before;
	if (after)
		details.after = *after;
	return append(process, record, &details, sizeof(details));
}

/* ---- processes ---- */

static struct journal_process life_of(const struct process *process, uint64_t its_serial,
				      uint32_t starter)
{
	return (struct journal_process){ .serial = its_serial,
					 .scope_id = scope_id,
					 .epoch = epoch,
					 .pid = process->pid,
					 .parent_pid = process->parent_pid,
					 .role = process->role,
					 .context = CONTEXT_ATTACHED | CONTEXT_AGENT,
					 .pid_ns = 4026531836,
					 .starter = starter };
}

/* A program, started by another: by vfork and exec.  Two arguments are enough. */
static struct process start(const struct process *parent, enum role role, const char *executable,
			    const char *second, const char *third)
{
	struct process child = { .pid = ++pid,
				 .parent_pid = parent ? parent->pid : 1,
				 .role = role,
				 .executable = executable };
	struct journal_record record = journal_blank(JOURNAL_EXEC);
	uint32_t words = arguments(strrchr(executable, '/') + 1, second, third, NULL);

	record.path = text(executable);
	record.other_path = words;
	record.amount = ++serial;
	record.tid = child.pid;
	record.marks = JOURNAL_VFORKED;
	if (parent)
		(void)append_plain(parent, record);
	record = journal_blank(JOURNAL_START);
	record.path = text(executable);
	record.other_path = words;
	record.directory = text(workspace);
	record.tid = child.pid;
	struct journal_process life = life_of(&child, serial, 0);
	child.number = append(NULL, record, &life, sizeof(life));
	run.observed++;
	return child;
}

static struct process copy_of(const struct process *parent)
{
	struct process child = { .pid = ++pid,
				 .parent_pid = parent->pid,
				 .role = parent->role,
				 .executable = parent->executable };
	struct journal_record record = journal_blank(JOURNAL_FORK);
	record.tid = child.pid;
	struct journal_process life = life_of(&child, ++serial, (uint32_t)parent->number);
	child.number = append(NULL, record, &life, sizeof(life));
	return child;
}

static void append_exit(const struct process *process, uint64_t status)
{
	struct journal_record record = journal_blank(JOURNAL_EXIT);
	record.amount = status;
	(void)append_plain(process, record);
}

static struct process shell(const char *command)
{
	return start(&agent, ROLE_SHELL, "/usr/bin/bash", "-c", command);
}

/* ---- calls ---- */

static struct journal_record opened(const struct file *file, uint32_t flags, int error)
{
	struct journal_record record = of_file(JOURNAL_OPEN, file);
	record.flags = flags | O_CLOEXEC;
	record.fd = error ? -1 : 3 + (int)below(6);
	record.head.error = (uint16_t)error;
	run.opens += !error;
	return record;
}

/* Bytes of a descriptor: what the first call moved, and all of it where there were more. */
static void append_bytes(const struct process *process, const struct file *file, enum journal_op op,
			 uint64_t bytes)
{
	struct journal_record record = of_file(op, file);
	record.fd = 3;
	record.amount = bytes > 65536 ? 65536 : bytes;
	(void)append_plain(process, record);
	if (bytes <= 65536 && percent(40))
		return;
	record.head.op++; /* its total */
	record.amount = bytes;
	record.count = (uint32_t)(bytes / 65536 + 2);
	record.marks = percent(5) ? JOURNAL_AT_LEAST : 0;
	(void)append_plain(process, record);
}

static void read_file(const struct process *process, const struct file *file)
{
	bool is_refused = file->path[0] == '/' && percent(20), is_missing = percent(3);
	struct journal_record record = opened(file, O_RDONLY,
					      is_refused   ? EACCES
					      : is_missing ? ENOENT
							   : 0);
	struct version version = version_of(file);
	bool is_hashed = !record.head.error &&
			 (process->role == ROLE_AGENT || process->role == ROLE_READER);

	(void)(is_hashed ? append_known(process, record, file, &version, &version)
			 : append_plain(process, record));
	if (!record.head.error)
		append_bytes(process, file, JOURNAL_READ, file->size_bytes);
}

/* A viewer's: given, or answered because it was before. */
static void view_file(const struct process *process, struct file *file)
{
	struct journal_record record = opened(file, O_RDONLY, 0);
	struct version version = version_of(file), older = version;
	bool is_again = file->scope == scope_id, is_changed = is_again && percent(10);

	record.decision = !is_again    ? DECISION_CONTENT
			  : is_changed ? DECISION_DIFF
			  : percent(8) ? DECISION_GIVEN_AGAIN
				       : DECISION_NOTICE;
	record.reason = !is_again                                 ? REASON_NOT_DELIVERED
			: is_changed                              ? REASON_CHANGED
			: record.decision == DECISION_GIVEN_AGAIN ? REASON_ASKED_AGAIN
								  : REASON_REPEATED;
	older.low--;
	(void)append_known(process, record, file, is_changed ? &older : &version, &version);
	append_bytes(process, file, JOURNAL_READ,
		     record.decision == DECISION_NOTICE ? 180
		     : record.decision == DECISION_DIFF ? file->size_bytes / 4
							: file->size_bytes);
	enum journal_op op = record.decision == DECISION_NOTICE        ? JOURNAL_NOTICE
			     : record.decision == DECISION_DIFF        ? JOURNAL_DIFFED
			     : record.decision == DECISION_GIVEN_AGAIN ? JOURNAL_YIELDED
								       : JOURNAL_GIVEN;
	record = of_known(op, file);
	record.amount = op == JOURNAL_NOTICE ? file->size_bytes - (file->size_bytes > 180 ? 180 : 0)
			: op == JOURNAL_DIFFED ? file->size_bytes * 3 / 4
					       : file->size_bytes;
	if (op == JOURNAL_GIVEN)
		record.decision = SOURCE_READ;
	(void)append_known(process, record, file, is_changed ? &older : &version, &version);
	file->scope = scope_id;
}

static void write_file(const struct process *process, struct file *file)
{
	struct version before = version_of(file);
	bool is_inside = file->path[0] != '/', is_agents = process->role != ROLE_TOOL;
	unsigned trouble = is_inside && is_agents ? below(100) : 100;
	struct journal_record record;

	if (trouble < 6) { /* an external program changed it */
		struct version baseline = before;
		bool is_denied = trouble < 2;
		baseline.low--;
		record = of_known(JOURNAL_KEPT, file);
		record.reason = CONTENTS_DESTROYED;
		(void)append_known(process, record, file, NULL, &before);
		record = of_known(JOURNAL_GUARDED, file);
		record.decision = is_denied ? GUARD_DENY : GUARD_WARN;
		record.reason = trouble == 5 ? GUARD_UNREAD : GUARD_STALE;
		record.head.error = is_denied ? ESTALE : 0;
		record.flags = JOURNAL_GUARDED_KEPT | (trouble == 4 ? JOURNAL_GUARDED_DEGRADED : 0);
		(void)append_known(process, record, file, &before, &baseline);
		if (is_denied) {
			(void)append_plain(process, opened(file, O_WRONLY | O_TRUNC, ESTALE));
			return;
		}
	}
	int error = !is_inside && percent(25) ? EACCES : percent(1) ? ENOSPC : 0;
	(void)append_plain(
		process,
		opened(file, O_WRONLY | O_CREAT | (percent(20) ? O_APPEND : O_TRUNC), error));
	if (error)
		return;
	file->size_bytes = 64 + below(20000);
	file->change++;
	append_bytes(process, file, JOURNAL_WRITE, file->size_bytes);
	struct version after = version_of(file);
	record = of_known(JOURNAL_EDITED, file);
	record.decision = is_agents ? SOURCE_AGENT : SOURCE_TOOL;
	if (is_inside)
		(void)append_known(process, record, file, &before, &after);
}

/* ---- what an agent does ---- */

static void view(void)
{
	struct file *file = any_file();
	struct process bash = shell("cat FILE...");
	struct process cat = start(&bash, ROLE_VIEWER, "/usr/bin/cat", file->path, NULL);

	for (unsigned i = 0; i < 1 + below(3); i++)
		view_file(&cat, i ? any_file() : file);
	append_exit(&cat, 0);
	append_exit(&bash, 0);
}

static void search(void)
{
	static const char *const DIRECTORIES[] = { "src", "tests", "docs", "." };
	struct process bash = shell("grep -rn TODO src tests");
	struct process grep = start(&bash, ROLE_READER, "/usr/bin/grep", "-rn", "TODO");
	struct journal_record record = journal_blank(JOURNAL_LIST);
	unsigned count = 4 + below(24);

	record.path = text(DIRECTORIES[below(4)]);
	record.directory = text(workspace);
	record.fd = 3;
	(void)append_plain(&grep, record);
	for (unsigned i = 0; i < count; i++)
		read_file(&grep, any_file());
	record = journal_blank(JOURNAL_REQUEST);
	record.decision = percent(25) ? DECISION_NOTICE : DECISION_CONTENT;
	record.amount = 200 + below(20000);
	record.count = count;
	(void)append_plain(&grep, record);
	append_exit(&grep, percent(10));
	append_exit(&bash, 0);
}

static void build(void)
{
	struct process bash = shell("make -j2");
	struct process make = start(&bash, ROLE_TOOL, "/usr/bin/make", "-j2", NULL);

	for (unsigned i = 0; i < 2 + below(5) && !is_full(); i++) {
		struct process cc = start(&make, ROLE_TOOL, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
					  "-O2", "-quiet");
		for (unsigned read = 0; read < 6 + below(20); read++)
			read_file(&cc, percent(85) ? any_file() : &files[FILES + 5]);
		struct journal_record record = opened(any_file(), O_RDONLY, 0);
		record.head.op = JOURNAL_MAP;
		record.flags = PROT_READ;
		record.amount = 65536;
		(void)append_plain(&cc, record);
		write_file(&cc, &files[FILES + BESIDE + below(BUILT)]);
		append_exit(&cc, 0);
	}
	append_exit(&make, percent(15) ? 2 : 0);
	append_exit(&bash, 0);
}

static void edit(void)
{
	struct file *file = any_file();
	read_file(&agent, file);
	write_file(&agent, file);
	if (percent(30)) { /* by a new file in its place */
		struct journal_record record = of_file(JOURNAL_RENAME, file);
		uint32_t directory = record.directory, name = record.path;
		record.path = text("src/.file.tmp");
		record.other_path = name;
		record.fd = AT_FDCWD;
		record.amount = directory;
		(void)append_plain(&agent, record);
	}
}

static void commit(void)
{
	static const char *const WORDS[] = { "status", "add", "commit", "stash", "checkout" };
	struct process bash = shell("git commit -am wip");
	struct process git = start(&bash, ROLE_TOOL, "/usr/bin/git", WORDS[below(5)], NULL);
	struct journal_record record = journal_blank(JOURNAL_CHDIR);

	record.path = text(workspace);
	(void)append_plain(&git, record);
	record = journal_blank(JOURNAL_CREATE);
	record.path = text(".git/objects/ab");
	record.directory = text(workspace);
	record.flags = S_IFDIR | 0755;
	(void)append_plain(&git, record);
	for (unsigned i = 0; i < 3 + below(6); i++) {
		struct file *file = any_file();
		read_file(&git, file);
		record = of_file(JOURNAL_METADATA, file);
		record.flags = percent(50) ? JOURNAL_METADATA_MODE : JOURNAL_METADATA_TIMES;
		record.amount = record.flags == JOURNAL_METADATA_MODE ? 0644 : 0;
		(void)append_plain(&git, record);
	}
	record = of_file(JOURNAL_LINK, any_file());
	record.other_path = text(".git/index.lock");
	record.amount = text(workspace);
	record.fd = AT_FDCWD;
	(void)append_plain(&git, record);
	record = of_file(percent(50) ? JOURNAL_DELETE : JOURNAL_TRUNCATE, any_file());
	(void)append_plain(&git, record);
	record = of_file(JOURNAL_SYMLINK, any_file());
	record.other_path = text("../target");
	(void)append_plain(&git, record);
	append_exit(&git, 0);
	append_exit(&bash, 0);
}

/* What a rule decided about an access. */
static void append_ruled(const struct process *process, const struct file *file, const char *rule,
			 enum rule_op access, enum rule_action action)
{
	struct journal_record record = of_file(JOURNAL_RULED, file);
	record.other_path = text(rule);
	record.flags = access;
	record.decision = (uint8_t)action;
	record.head.error = action == RULE_ACTION_DENY ? EACCES : 0;
	(void)append_plain(process, record);
}

/* What an auditor looks for. */
static void stray(void)
{
	struct process bash = shell("npm install && ./deploy.sh");
	struct process npm = start(&bash, ROLE_TOOL,
				   percent(50) ? "/usr/bin/node" : "/usr/bin/python3", "install",
				   NULL);
	struct process worker = copy_of(&npm);

	struct file *secret = &files[7 + 97 * below(3)], *elsewhere = beside(),
		    *pipeline = &files[7 + 97 * (3 + below(3))];
	if (percent(30)) {
		append_ruled(&worker, secret, "secrets", RULE_READ, RULE_ACTION_DENY);
		(void)append_plain(&worker, opened(secret, O_RDONLY, EACCES));
	} else {
		read_file(&worker, secret);
	}
	read_file(&npm, beside());
	append_ruled(&npm, elsewhere, "outside", RULE_WRITE, RULE_ACTION_WARN);
	write_file(&npm, elsewhere);
	if (percent(20)) {
		append_ruled(&npm, pipeline, "ci", RULE_WRITE, RULE_ACTION_FAIL);
		write_file(&npm, pipeline);
	}
	append_exit(&worker, 0);
	struct journal_record record = journal_blank(JOURNAL_EXEC);
	record.path = text("./deploy.sh");
	record.other_path = arguments("./deploy.sh", NULL);
	record.amount = ++serial;
	record.tid = ++pid;
	record.marks = JOURNAL_VFORKED;
	(void)append_plain(&npm, record);
	record = journal_blank(JOURNAL_EXEC_FAILED);
	record.head.error = ENOENT;
	record.amount = serial;
	record.tid = pid;
	record.marks = JOURNAL_VFORKED;
	(void)append_plain(&npm, record);
	append_exit(&npm, 1);
	append_exit(&bash, 1);
}

static void user(void)
{
	struct file *file = any_file();
	struct version before = version_of(file), after;
	struct journal_record record = of_known(JOURNAL_CHANGED, file);

	file->change++;
	after = version_of(file);
	record.decision = percent(80) ? SOURCE_USER : SOURCE_UNATTRIBUTED;
	record.flags = percent(85) ? 0 : 1 + below(2);
	(void)append_known(NULL, record, file, &before, &after);
	if (percent(20)) {
		record = of_known(JOURNAL_MENTIONED, file);
		(void)append_known(NULL, record, file, NULL, &after);
	}
}

/* ---- runs ---- */

static void start_run(void)
{
	scope_id = chance() | 1;
	epoch = chance() | 1;
	memset(&run, 0, sizeof(run));
	agent = start(NULL, ROLE_AGENT, "/usr/bin/node", "/usr/local/bin/pi", NULL);
	struct file *instructions = &files[7 + 97 * 6];
	struct journal_record record = of_known(JOURNAL_INSTRUCTED, instructions);
	struct version version = version_of(instructions);
	record.amount = scope_id;
	(void)append_known(&agent, record, instructions, NULL, &version);
}

static void compact(void)
{
	struct journal_record record = journal_blank(JOURNAL_FORGOTTEN);
	record.amount = scope_id;
	record.other_path = text("hook PreCompact");
	(void)append_plain(NULL, record);
	for (unsigned i = 0; i < FILES; i++)
		files[i].scope = 0;
}

static void work(void)
{
	unsigned turn = below(1000);

	if (turn < 380)
		view();
	else if (turn < 560)
		search();
	else if (turn < 680)
		build();
	else if (turn < 860)
		edit();
	else if (turn < 920)
		commit();
	else if (turn < 960)
		stray();
	else if (turn < 998)
		user();
	else
		compact();
}

static void finish_run(void)
{
	static const struct {
		const char *program, *reason;
		uint32_t flags;
	} NOT_SEEN[TAIL - 1] = { { "busybox", "static", 0 },
				 { "rg", "no libc", 0 },
				 { "node", "io_uring", JOURNAL_UNOBSERVED_PARTLY } };
	struct journal_record record;
	char said[200];

	for (unsigned i = 0; i < TAIL - 1; i++) {
		record = journal_blank(JOURNAL_UNOBSERVED);
		record.path = text(NOT_SEEN[i].program);
		record.other_path = text(NOT_SEEN[i].reason);
		record.count = 1 + below(9);
		record.flags = NOT_SEEN[i].flags;
		run.unobserved += record.flags ? 0 : record.count;
		(void)append_plain(NULL, record);
	}
	struct journal_coverage coverage = { .observed = run.observed,
					     .unobserved = run.unobserved,
					     .partial = 1,
					     .opens = run.opens };
	(void)snprintf(said, sizeof(said), "%llu processes observed, %llu not",
		       (unsigned long long)run.observed, (unsigned long long)run.unobserved);
	record = journal_blank(JOURNAL_COVERAGE);
	record.other_path = text(said);
	(void)append(NULL, record, &coverage, sizeof(coverage));
}

int main(int argc, char **argv)
{
	bool is_sealed = false, is_hostile = false;
	char nonce[JOURNAL_NONCE_BYTES];

	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], "--hostile") == 0)
			is_hostile = true;
		else if (strcmp(argv[i], "--seal") == 0)
			is_sealed = true;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			chance_state = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--workspace") == 0 && i + 1 < argc)
			workspace = argv[++i];
		else
			argc = 0;
	wanted = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (wanted == 0) {
		(void)fprintf(stderr, "usage: journal_maker FILE COUNT [--seed N] [--hostile] "
				      "[--seal] [--workspace DIR]\n");
		return 2;
	}
	allowed = wanted > TAIL ? wanted - TAIL : 0;
	now_ns = BEGIN_NS;
	(void)snprintf(nonce, sizeof(nonce), "%016llx", (unsigned long long)chance());
	must(journal_create(argv[1], "made", nonce, workspace, MAX_BYTES) == 0);
	must(journal_map(argv[1], &journal) == 0);
	make_files(is_hostile, 4000 - strlen(workspace));
	while (!is_full()) {
		uint64_t until = written + RUN_EVENTS;
		start_run();
		while (!is_full() && written < until)
			work();
		finish_run();
	}
	allowed = wanted;
	while (!is_full())
		finish_run();
	must(written == wanted && journal.header->lost == 0);
	if (is_sealed) {
		struct seal_result result;
		must(seal_append(argv[1], &journal, SEAL_SYNC_NOW, &result) == 0);
		printf("%s\n", result.digest);
	}
	return 0;
}
