/* What each scope was given: see history.h. */
#include "cli/journal/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/journal/reported.h"
#include "tracker/answer/decision.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"

enum { STDOUT = 1, PATHS_BYTES_FIRST = 256, DELIVERIES_MAX = 64, BUCKETS = 1024 };

/* What one request was given of a file. */
struct delivery {
	char *path;          /* owned */
	char *argument_path; /* owned; NULL: not known */
	int decision;
	bool is_given; /* of a CONTENT or YIELDED one: it was, and whole */
	struct version before, version;
	uint64_t bytes, bytes_saved;
};

/* A viewer or reader.  Strings are owned. */
struct collected {
	uint64_t process; /* number of its START record */
	uint16_t next;    /* the one before it in its bucket: its place and 1 */
	uint64_t time_realtime_ns, scope_id, epoch;
	uint32_t pid;
	int role;
	enum history_kind kind; /* of its deliveries */
	/* its output went to a file, or there is no more to report of it than its deliveries */
	bool is_elsewhere;
	char *tool;
	char *arguments;
	size_t arguments_bytes;
	char *paths;
	size_t paths_bytes, paths_capacity;
	unsigned paths_kept;
	uint64_t path_count;
	int decision; /* of its command; HISTORY_NOT_KNOWN */
	uint64_t amount;
	struct delivery *deliveries;
	size_t delivery_count;
	char *call, *conversation; /* of a tool's: ids */
	uint32_t tid;              /* likewise: of the hook that reported its end; 0: none */
	bool is_failed;
};

struct history {
	struct collected requests[HISTORY_REQUESTS_MAX]; /* a ring */
	size_t first, count;
	uint16_t buckets[BUCKETS]; /* by process: the place of the last one and 1; 0: none */
	uint64_t scope_id;         /* 0: all */
	int (*entry)(const struct history_entry *entry, void *data);
	void *data;
	int result;
};

/* ---- requests ---- */

static void collected_free(struct collected *request)
{
	for (size_t i = 0; i < request->delivery_count; i++) {
		free(request->deliveries[i].path);
		free(request->deliveries[i].argument_path);
	}
	free(request->deliveries);
	free(request->tool);
	free(request->call);
	free(request->conversation);
	free(request->arguments);
	free(request->paths);
	*request = (struct collected){ 0 };
}

static uint16_t *bucket_of(struct history *history, uint64_t process)
{
	return &history->buckets[process % BUCKETS];
}

static void link_request(struct history *history, struct collected *request, uint64_t process)
{
	uint16_t *bucket = bucket_of(history, process);

	request->process = process;
	request->next = *bucket;
	*bucket = (uint16_t)(request - history->requests + 1);
}

/* The oldest of all: the last one of its bucket. */
static void unlink_first(struct history *history)
{
	const struct collected *first = &history->requests[history->first];
	uint16_t *at = bucket_of(history, first->process);

	while (*at && &history->requests[*at - 1] != first)
		at = &history->requests[*at - 1].next;
	*at = 0;
}

static struct collected *find(struct history *history, uint64_t process)
{
	for (uint16_t place = *bucket_of(history, process); process && place;
	     place = history->requests[place - 1].next)
		if (history->requests[place - 1].process == process)
			return &history->requests[place - 1];
	return NULL;
}

/* Says once that memory is short: what does not fit is missing, and the caller gets an error. */
static void *checked(struct history *history, void *memory)
{
	if (!memory && !history->result)
		history->result = -ENOMEM;
	return memory;
}

static char *copy(struct history *history, const char *text)
{
	return text ? checked(history, strdup(text)) : NULL;
}

static const char *path_of(const struct event *event)
{
	return event->resolved ? event->resolved : event->path;
}

static bool has_path(const struct collected *request, const char *path, size_t length)
{
	for (const char *at = request->paths; at < request->paths + request->paths_bytes;) {
		size_t other = strlen(at);
		if (other == length && memcmp(at, path, length) == 0)
			return true;
		at += other + 1;
	}
	return false;
}

/* What a process asks of itself is nothing that it was given. */
static bool is_input(const char *path)
{
	return path && strncmp(path, "/proc/self/", strlen("/proc/self/")) != 0;
}

static void add_path(struct history *history, struct collected *request, const char *path)
{
	size_t length = path ? strlen(path) : 0;

	if (!is_input(path) || has_path(request, path, length))
		return;
	request->path_count++;
	if (request->paths_kept >= HISTORY_PATHS_MAX ||
	    request->paths_bytes + length + 1 > HISTORY_PATHS_BYTES_MAX)
		return;
	if (request->paths_bytes + length + 1 > request->paths_capacity) {
		size_t capacity = request->paths_capacity ? request->paths_capacity
							  : PATHS_BYTES_FIRST;
		while (capacity < request->paths_bytes + length + 1)
			capacity *= 2;
		char *paths = checked(history, realloc(request->paths, capacity));
		if (!paths)
			return;
		request->paths = paths;
		request->paths_capacity = capacity;
	}
	memcpy(request->paths + request->paths_bytes, path, length + 1);
	request->paths_bytes += length + 1;
	request->paths_kept++;
}

/* ---- entries ---- */

static void emit(struct history *history, const struct history_entry *entry)
{
	if (!history->result)
		history->result = history->entry(entry, history->data);
}

static struct history_entry entry_of(const struct collected *request)
{
	return (struct history_entry){
		.number = request->process,
		.time_realtime_ns = request->time_realtime_ns,
		.scope_id = request->scope_id,
		.epoch = request->epoch,
		.pid = request->pid,
		.role = request->role,
		.tool = request->tool,
		.arguments = request->arguments,
		.arguments_bytes = request->arguments_bytes,
	};
}

static void emit_delivery(struct history *history, const struct collected *request,
			  const struct delivery *delivery)
{
	struct history_entry entry = entry_of(request);

	entry.kind = request->kind == HISTORY_TOOL ? HISTORY_DELIVERY : request->kind;
	entry.conversation = request->conversation;
	entry.paths = delivery->path;
	entry.paths_bytes = strlen(delivery->path) + 1;
	entry.path_count = 1;
	entry.argument_path = delivery->argument_path;
	entry.decision = delivery->decision;
	entry.before = delivery->before;
	entry.version = delivery->version;
	entry.bytes = delivery->bytes;
	entry.bytes_saved = delivery->bytes_saved;
	emit(history, &entry);
}

static void emit_command(struct history *history, const struct collected *request)
{
	struct history_entry entry = entry_of(request);

	entry.kind = HISTORY_REQUEST;
	entry.paths = request->paths;
	entry.paths_bytes = request->paths_bytes;
	entry.path_count = request->path_count;
	entry.decision = request->decision;
	entry.bytes = HISTORY_BYTES_UNKNOWN;
	if (request->decision == DECISION_NOTICE)
		entry.bytes_saved = request->amount;
	else if (request->decision == DECISION_CONTENT || request->decision == DECISION_GIVEN_AGAIN)
		entry.bytes = request->amount;
	emit(history, &entry);
}

static bool is_reported(const struct delivery *delivery)
{
	return delivery->path && (delivery->is_given || delivery->decision == DECISION_NOTICE ||
				  delivery->decision == DECISION_DIFF);
}

static void emit_tool(struct history *history, const struct collected *request)
{
	struct history_entry entry = entry_of(request);

	entry.kind = HISTORY_TOOL;
	entry.decision = HISTORY_NOT_KNOWN;
	entry.bytes = HISTORY_BYTES_UNKNOWN;
	entry.is_failed = request->is_failed;
	entry.conversation = request->conversation;
	emit(history, &entry);
}

static void emit_request(struct history *history, const struct collected *request)
{
	bool any = false;

	for (size_t i = 0; i < request->delivery_count; i++) {
		if (is_reported(&request->deliveries[i])) {
			emit_delivery(history, request, &request->deliveries[i]);
			any = true;
		}
	}
	if (request->kind == HISTORY_TOOL && !any)
		emit_tool(history, request);
	if (request->decision != HISTORY_NOT_KNOWN || (!any && !request->is_elsewhere))
		emit_command(history, request);
}

static void emit_first(struct history *history)
{
	struct collected *first = &history->requests[history->first];

	emit_request(history, first);
	unlink_first(history);
	collected_free(first);
	history->first = (history->first + 1) % HISTORY_REQUESTS_MAX;
	history->count--;
}

/* ---- events ---- */

static bool is_wanted(const struct history *history, uint64_t scope_id)
{
	return !history->scope_id || scope_id == history->scope_id;
}

static struct collected *add(struct history *history)
{
	if (history->count == HISTORY_REQUESTS_MAX)
		emit_first(history);
	struct collected *request =
		&history->requests[(history->first + history->count++) % HISTORY_REQUESTS_MAX];
	request->decision = HISTORY_NOT_KNOWN;
	return request;
}

static void fill(struct history *history, struct collected *request, const struct event *event,
		 const char *tool)
{
	request->time_realtime_ns = event->time_realtime_ns;
	request->scope_id = event->scope_id;
	request->epoch = event->epoch;
	request->pid = event->pid;
	request->role = event->role;
	request->tool = copy(history, tool);
}

static void start(struct history *history, const struct event *event)
{
	if ((event->role != ROLE_VIEWER && event->role != ROLE_READER) || !event->scope_id ||
	    !is_wanted(history, event->scope_id))
		return;
	struct collected *request = add(history);
	link_request(history, request, event->number);
	/* As it was called: what one program is by many names tells itself by that. */
	const char *called = event->other_bytes ? event->other : event->executable;
	fill(history, request, event, called ? path_base(called) : NULL);
	if (event->other && event->other_bytes) {
		request->arguments = checked(history, malloc(event->other_bytes + 1));
		if (request->arguments) {
			memcpy(request->arguments, event->other, event->other_bytes);
			request->arguments[event->other_bytes] = '\0';
			request->arguments_bytes = event->other_bytes;
		}
	}
}

static void note_read(struct history *history, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct collected *request = find(history, event->process);

	if (!request || event->error || (record->marks & JOURNAL_PLANNED) ||
	    (event->op == JOURNAL_OPEN && (record->flags & O_ACCMODE) != O_RDONLY))
		return;
	add_path(history, request, path_of(event));
}

static void note_written(struct history *history, const struct event *event)
{
	struct collected *request = event->entry->record.fd == STDOUT && event->path
					    ? find(history, event->process)
					    : NULL;
	if (request)
		request->is_elsewhere = true;
}

static struct delivery *add_delivery(struct history *history, struct collected *request)
{
	if (request->delivery_count == DELIVERIES_MAX)
		return NULL;
	struct delivery *grown = checked(
		history,
		realloc(request->deliveries, (request->delivery_count + 1) * sizeof(*grown)));
	if (!grown)
		return NULL;
	request->deliveries = grown;
	struct delivery *delivery = &grown[request->delivery_count++];
	*delivery = (struct delivery){ .decision = DECISION_CONTENT };
	return delivery;
}

/* The delivery that was only decided on when the file was opened, and is made now. */
static struct delivery *find_decided(const struct collected *request, const struct version *version)
{
	/* By its version: it was opened by a name that may be another than the kernel's. */
	for (size_t i = 0; i < request->delivery_count; i++) {
		struct delivery *delivery = &request->deliveries[i];
		if (!delivery->is_given && delivery->decision == DECISION_GIVEN_AGAIN &&
		    version_equal(&delivery->version, version))
			return delivery;
	}
	return NULL;
}

/* Of a process that is no viewer, or of one that was handed on: an entry of its own. */
static struct collected *add_alone(struct history *history, const struct event *event,
				   const char *tool)
{
	struct collected *request = add(history);

	request->is_elsewhere = true;
	fill(history, request, event, tool);
	link_request(history, request, event->number);
	return request;
}

/* The call of which that hook reported the end: what it records next is what the call gave. */
static struct collected *find_reported(struct history *history, const struct event *event)
{
	for (size_t i = history->count; !event->process && event->tid && i > 0; i--) {
		struct collected *request =
			&history->requests[(history->first + i - 1) % HISTORY_REQUESTS_MAX];
		if (request->tid == event->tid)
			return request;
	}
	return NULL;
}

static void note_delivery(struct history *history, const struct event *event)
{
	const struct journal_entry *entry = event->entry;
	struct collected *request = event->process ? find(history, event->process)
						   : find_reported(history, event);
	const char *path = path_of(event);

	if (!path || !(entry->record.marks & JOURNAL_DETAILS) ||
	    (!request && (!event->pid || !is_wanted(history, event->scope_id))))
		return;
	if (!request)
		request = add_alone(history, event,
				    event->role == ROLE_VIEWER && event->executable
					    ? path_base(event->executable)
					    : "read");
	struct delivery *delivery = event->op == JOURNAL_GIVEN
					    ? find_decided(request, &entry->details.after)
					    : NULL;
	if (!delivery) {
		delivery = add_delivery(history, request);
		if (!delivery)
			return;
		delivery->path = copy(history, path);
		if (event->op != JOURNAL_GIVEN) /* that names it as the kernel knows it */
			delivery->argument_path = copy(history, event->path);
	}
	delivery->before = entry->details.before;
	delivery->version = entry->details.after;
	delivery->bytes = entry->details.after.size_bytes;
	switch (event->op) {
	case JOURNAL_GIVEN:
		delivery->is_given = true;
		break;
	case JOURNAL_YIELDED:
		delivery->decision = DECISION_GIVEN_AGAIN;
		break;
	default:
		delivery->decision = event->op == JOURNAL_NOTICE ? DECISION_NOTICE : DECISION_DIFF;
		delivery->bytes_saved = entry->record.amount < delivery->bytes
						? entry->record.amount
						: delivery->bytes;
		delivery->bytes -= delivery->bytes_saved;
	}
}

static void note_command(struct history *history, const struct event *event)
{
	struct collected *request = find(history, event->process);

	if (!request)
		return;
	request->amount = event->entry->record.amount;
	/* One that was asked for again is reported as about to be given, and then as given. */
	if (request->decision != DECISION_GIVEN_AGAIN)
		request->decision = event->entry->record.decision;
}

static void note_instructed(struct history *history, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	const char *path = path_of(event);

	if (!path || !is_wanted(history, record->amount))
		return;
	struct collected *request = add_alone(
		history, event,
		record->flags == JOURNAL_INSTRUCTED_INJECTED ? "inject" : "context");
	request->kind = HISTORY_INSTRUCTION;
	/* It is the command that tells, or a viewer: the scope is the one that it was given to. */
	if (request->scope_id != record->amount)
		request->epoch = 0;
	request->scope_id = record->amount;
	struct delivery *delivery = add_delivery(history, request);
	if (!delivery)
		return;
	delivery->path = copy(history, path);
	delivery->is_given = true;
	if (record->marks & JOURNAL_DETAILS)
		delivery->version = event->entry->details.after;
	delivery->bytes = delivery->version.size_bytes;
}

static const char *reported(const struct event *event, enum reported_text which)
{
	return reported_text(event->other, event->other_bytes, which);
}

static struct collected *find_call(struct history *history, const char *call)
{
	for (size_t i = history->count; call && i > 0; i--) {
		struct collected *request =
			&history->requests[(history->first + i - 1) % HISTORY_REQUESTS_MAX];
		if (request->call && strcmp(request->call, call) == 0)
			return request;
	}
	return NULL;
}

/* A call of a tool begins, or has ended; of some agents only the one or the other is reported. */
static void note_tool(struct history *history, const struct event *event)
{
	const char *tool = reported(event, REPORTED_TOOL), *input = reported(event, REPORTED_INPUT);
	const char *hook = reported(event, REPORTED_HOOK);
	uint64_t scope_id = event->entry->record.amount;
	bool ends = hook && (strncmp(hook, "Post", 4) == 0 || strncmp(hook, "After", 5) == 0);
	struct collected *request = ends ? find_call(history, reported(event, REPORTED_CALL))
					 : NULL;

	if (!tool || !is_wanted(history, scope_id))
		return;
	if (request) {
		request->is_failed = request->is_failed || (hook && strstr(hook, "Fail"));
		request->tid = event->tid;
		return;
	}
	request = add_alone(history, event, tool);
	request->kind = HISTORY_TOOL;
	request->scope_id = scope_id;
	request->tid = ends ? event->tid : 0;
	request->is_failed = ends && strstr(hook, "Fail");
	request->call = copy(history, reported(event, REPORTED_CALL));
	request->conversation = copy(history, reported(event, REPORTED_CONVERSATION));
	size_t length = strlen(tool) + 1, more = input ? strlen(input) + 1 : 0;
	request->arguments = checked(history, malloc(length + more));
	if (!request->arguments)
		return;
	memcpy(request->arguments, tool, length);
	if (input)
		memcpy(request->arguments + length, input, more);
	request->arguments_bytes = length + more;
}

static void note(struct history *history, const struct event *event)
{
	switch (event->op) {
	case JOURNAL_START:
		start(history, event);
		break;
	case JOURNAL_OPEN:
	case JOURNAL_LIST:
		note_read(history, event);
		break;
	case JOURNAL_WRITE:
		note_written(history, event);
		break;
	case JOURNAL_NOTICE:
	case JOURNAL_YIELDED:
	case JOURNAL_DIFFED:
	case JOURNAL_GIVEN:
		note_delivery(history, event);
		break;
	case JOURNAL_REQUEST:
		note_command(history, event);
		break;
	case JOURNAL_INSTRUCTED:
		note_instructed(history, event);
		break;
	case JOURNAL_REPORTED:
		note_tool(history, event);
		break;
	default:
		break;
	}
}

int history_each(struct events *events, uint64_t scope_id,
		 void (*report)(const struct event *event, void *data),
		 int (*entry)(const struct history_entry *entry, void *data), void *data)
{
	struct history *history = calloc(1, sizeof(*history));
	struct event event;

	if (!history)
		return -ENOMEM;
	history->scope_id = scope_id;
	history->entry = entry;
	history->data = data;
	while (!history->result) {
		enum events_found found = events_next(events, &event);
		if (found == EVENTS_END)
			break;
		if (found == EVENTS_UNDONE) {
			events_pass(events);
			continue;
		}
		if (report && event.op == JOURNAL_REPORTED)
			report(&event, data);
		note(history, &event);
	}
	while (history->count)
		emit_first(history);
	int result = history->result ? history->result : events_error(events);
	free(history);
	return result;
}
