/*
 * A session of one's own, for tests of the tracker: a temporary directory that holds a workspace and a
 * segment made from config_new() and config_pack().
 *
 *	struct world world;
 *	world_open(&world, "notice.min_bytes=64", "session.files=128", NULL);
 *	...
 *	world_close(&world);
 *
 * Knows nothing of Criterion: stress programs use it too.  What cannot fail in a sound test is
 * checked by must(), which says where and aborts.
 */
#ifndef SEEN_TESTS_UNIT_SUPPORT_H
#define SEEN_TESTS_UNIT_SUPPORT_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "config/load.h"
#include "config/pack.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/answer/delivery.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"
#include "tracker/segment/index.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/segment_create.h"
#include "tracker/segment/tables.h"

#define must(condition) \
	((condition) ? (void)0 \
		     : (void)(fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, \
				      __func__, #condition, strerror(errno)), \
			      abort()))

struct world {
	char root[64];      /* temporary directory */
	char workspace[80]; /* its w/ */
	char file[96];      /* the segment */
	char contents[96];  /* directory of the content store */
	char undo[96];      /* of packs */
	struct segment segment;
	struct settings *settings; /* the segment's, writable: for what no configuration can say */
	uint32_t profile; /* of an agent that was measured: 24,000 bytes of a command, and no limit of lines */
};

/* The nonce is "seen-0011223344556677". */
static const unsigned char WORLD_RANDOM[8] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77 };

/* slot_of_file(): where the file of a key is. */
static inline struct file_slot *slot_of_file(const struct segment *segment, uint64_t key)
{
	struct index_search search = { .hash = key };
	struct file_slot *slot;

	while ((slot = index_next(segment, TABLE_FILES, &search)) && slot->key != key)
		continue;
	must(slot);
	return slot;
}

/* world_make(): the directories and the segment's file, not mapped.  overrides: "section.name=value"..., NULL. */
static inline void world_make(struct world *world, const char *const *overrides)
{
	static const char *const NO_ENVIRONMENT[] = { NULL };
	static char text[SETTINGS_TEXT_BYTES_MAX];
	struct config_request *request = calloc(1, sizeof(*request));
	struct settings *settings = calloc(1, sizeof(*settings));
	struct config *config = NULL;
	struct config_error error = { "" };
	char keys[32][256];
	size_t used = 0;

	must(request && settings);
	memset(world, 0, sizeof(*world));
	(void)snprintf(world->root, sizeof(world->root), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(world->root) != NULL);
	(void)snprintf(world->workspace, sizeof(world->workspace), "%s/w", world->root);
	(void)snprintf(world->file, sizeof(world->file), "%s/segment", world->root);
	(void)snprintf(world->contents, sizeof(world->contents), "%s/content", world->root);
	(void)snprintf(world->undo, sizeof(world->undo), "%s/undo", world->root);
	must(mkdir(world->workspace, 0700) == 0 && mkdir(world->contents, 0700) == 0 &&
	     mkdir(world->undo, 0700) == 0);

	must(config_new(&config) == 0);
	request->flags[request->flag_count++] = (struct config_flag){ .key = "agent world.measured",
								      .value = "*",
								      .origin = "test" };
	request->system_file = "/nonexistent/seen.ini";
	request->environment = NO_ENVIRONMENT;
	request->directory = world->workspace;
	request->flags[request->flag_count++] = (struct config_flag){ .key = "paths.workspace",
								      .value = world->workspace,
								      .origin = "test" };
	for (size_t i = 0; overrides && overrides[i]; i++) {
		const char *equals = strchr(overrides[i], '=');
		must(equals && i < 32 && (size_t)(equals - overrides[i]) < sizeof(keys[0]));
		memcpy(keys[i], overrides[i], (size_t)(equals - overrides[i]));
		keys[i][equals - overrides[i]] = '\0';
		request->flags[request->flag_count++] = (struct config_flag){ .key = keys[i],
									      .value = equals + 1,
									      .origin = "test" };
	}
	if (config_load(config, request, &error) < 0 ||
	    config_pack(config, settings, text, sizeof(text), &used, &error) < 0) {
		fprintf(stderr, "world: %s\n", error.text);
		abort();
	}
	must(segment_create(world->root, "test", WORLD_RANDOM, "boot", settings, text, used, NULL,
			    world->contents, world->undo) == 0);
	config_free(config);
	free(settings);
	free(request);
}

/* world_map(): maps the segment of a world that was made. */
static inline void world_map(struct world *world)
{
	must(segment_map(world->file, &world->segment) == 0);
	world->settings = (struct settings *)(uintptr_t)world->segment.settings;
	for (uint64_t i = 0; i < world->settings->profile_count; i++) {
		const char *name = segment_text(&world->segment, world->settings->profiles[i].name,
						NULL);
		if (name && strcmp(name, "world") == 0)
			world->profile = (uint32_t)i + 1;
	}
}

/* world_open(): makes and maps.  Ended by NULL. */
__attribute__((sentinel)) static inline void world_open(struct world *world, ...)
{
	const char *overrides[32] = { NULL };
	va_list list;

	va_start(list, world);
	for (size_t i = 0; i < 31 && (overrides[i] = va_arg(list, const char *)); i++)
		;
	va_end(list);
	world_make(world, overrides);
	world_map(world);
}

static inline int world_remove_one(const char *path, const struct stat *stat, int type,
				   struct FTW *ftw)
{
	(void)stat, (void)type, (void)ftw;
	return remove(path);
}

static inline void world_close(struct world *world)
{
	segment_unmap(&world->segment);
	(void)nftw(world->root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* world_path(): a path below the workspace; valid for the next 15 calls. */
static inline const char *world_path(const struct world *world, const char *name)
{
	static char paths[16][512];
	static unsigned next;
	char *path = paths[next++ % 16];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", world->workspace, name);
	return path;
}

/* write_path(): writes a whole file, made or truncated. */
static inline void write_path(const char *path, const void *bytes, size_t size_bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd >= 0);
	must(write(fd, bytes, size_bytes) == (ssize_t)size_bytes);
	must(close(fd) == 0);
}

/* world_fill(): a file of the workspace with `size_bytes` bytes of text that depend on `seed`. */
static inline void world_fill(const struct world *world, const char *name, size_t size_bytes,
			      unsigned seed)
{
	char *bytes = malloc(size_bytes + 1);
	must(bytes);
	for (size_t i = 0; i < size_bytes; i++)
		bytes[i] = i % 40 == 39 ? '\n' : (char)('a' + (i / 40 + i * 7 + seed * 11) % 26);
	write_path(world_path(world, name), bytes, size_bytes);
	free(bytes);
}

/* world_scope(): a scope, made where needed. */
static inline uint64_t world_scope(const struct world *world, const char *name)
{
	uint64_t id = scope_id_of(7, name);
	must(scope_claim(&world->segment, id, NULL, (uint32_t)getpid(), world->profile, name) !=
	     NULL);
	return id;
}

/* BYTES(): limits of so many bytes, however they are cut into lines. */
#define BYTES(number) \
	(&(struct output_limits){ .bytes = (number), \
				  .lines = UINT64_MAX, \
				  .line_bytes = UINT64_MAX, \
				  .is_measured = true })

static inline bool bytes_within(const struct segment *segment, uint64_t command, uint64_t bytes)
{
	return command_within(segment, command, BYTES(bytes));
}

static inline bool bytes_within_so_far(const struct segment *segment, uint64_t capture,
				       uint64_t command, uint64_t bytes)
{
	return command_within_so_far(segment, capture, command, BYTES(bytes));
}

/* sends(): a viewer sends one line of so many bytes. */
static inline void sends(const struct segment *segment, uint64_t command, uint64_t bytes)
{
	struct shape shape = { .bytes = bytes, .newlines = 1, .longest = bytes ? bytes - 1 : 0 };
	command_add(segment, command, NULL, &shape);
}

/* world_command(): a command that sent nothing yet, without a capture. */
static inline uint64_t world_command(const struct world *world)
{
	uint64_t id = __atomic_fetch_add(&world->segment.header->next_command, 1, __ATOMIC_RELAXED);
	struct command_slot *slot = segment_slot(&world->segment, TABLE_COMMANDS,
						 id % world->segment.capacity[TABLE_COMMANDS]);
	*slot = (struct command_slot){ .id = id };
	return id;
}

/* world_request(): the next request of a scope, by a viewer at the capture, in a command of its own. */
static inline struct request world_request(const struct world *world, uint64_t scope_id)
{
	return (struct request){
		.context = { .flags = CONTEXT_ATTACHED | CONTEXT_AGENT,
			     .role = ROLE_VIEWER,
			     .scope_id = scope_id,
			     .profile = world->profile },
		.number = scope_request(&world->segment, scope_id),
		.command_id = world_command(world),
		.is_viewer = true,
		.at_sink = true,
	};
}

/* One `cat FILE`, in the steps of a viewer. */
struct viewed_file {
	int fd;
	struct stat stat;
	char path[512];
	struct answer answer;
	struct pending pending;
	bool is_pending;
	struct delivered delivered; /* viewer_finish() */
};

/* open_view(): opens the file and asks; where the real bytes are given, remembers it as pending. */
static inline enum decision open_view(const struct world *world, const struct request *request,
				      const char *name, struct viewed_file *view)
{
	(void)snprintf(view->path, sizeof(view->path), "%s/%s", world->workspace, name);
	view->fd = open(view->path, O_RDONLY | O_CLOEXEC);
	must(view->fd >= 0 && fstat(view->fd, &view->stat) == 0);
	memset(&view->answer, 0, sizeof(view->answer));
	decision_open(&world->segment, request, view->path, name, view->fd, &view->stat,
		      &view->answer);
	view->is_pending = view->answer.decision != DECISION_NOTICE &&
			   view->answer.reason != REASON_NOT_TRACKED &&
			   decision_pend(&world->segment, request, view->path, &view->stat,
					 &view->answer, &view->pending) == 0;
	return view->answer.decision;
}

/* viewer_finish(): the bytes went out and the viewer left by exit(0). */
static inline void viewer_finish(const struct world *world, const struct request *request,
				 struct viewed_file *view)
{
	struct scope_slot *scope = scope_find(&world->segment, request->context.scope_id);
	struct content content;
	struct shape shape;
	struct stat stat;

	if (view->answer.decision == DECISION_NOTICE) {
		sends(&world->segment, request->command_id, view->answer.notice_bytes);
		if (scope)
			scope->bytes_given += view->answer.notice_bytes;
	} else {
		must(content_and_shape(view->fd, UINT64_MAX, &content, &shape) == 0 &&
		     fstat(view->fd, &stat) == 0);
		struct stamp stamp = stamp_of(&stat);
		command_add(&world->segment, request->command_id, NULL, &shape);
		if (scope)
			scope->bytes_given += content.version.size_bytes;
		if (view->is_pending &&
		    decision_complete(&world->segment, view->path, &view->pending) == 0)
			decision_deliver(&world->segment, request, &view->pending, &stamp,
					 &content.version, &view->delivered);
	}
	must(close(view->fd) == 0);
}

/* world_cat(): `cat NAME` as a command of its own, by an agent of the scope.  ret_reason: may be NULL. */
static inline enum decision world_cat_reason(const struct world *world, uint64_t scope_id,
					     const char *name, enum reason *ret_reason)
{
	struct request request = world_request(world, scope_id);
	struct viewed_file view;
	enum decision decision = open_view(world, &request, name, &view);

	viewer_finish(world, &request, &view);
	if (ret_reason)
		*ret_reason = view.answer.reason;
	return decision;
}

static inline enum decision world_cat(const struct world *world, uint64_t scope_id,
				      const char *name)
{
	return world_cat_reason(world, scope_id, name, NULL);
}

/* world_is_delivered(): asked by the scope's next request, which is not counted. */
static inline bool world_is_delivered(const struct world *world, uint64_t scope_id,
				      const char *name)
{
	const struct scope_slot *scope = scope_find(&world->segment, scope_id);
	return tracker_is_delivered(&world->segment, scope_id, scope ? scope->requests + 1 : 1,
				    world_path(world, name));
}

/* in_child(): runs a function in a forked process and returns its exit status, 128 + N for a signal.  For what
 * swaps descriptor 1 or ends badly. */
static inline int in_child(int (*function)(void *), void *data)
{
	int status;
	(void)fflush(NULL);
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0)
		_exit(function(data));
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Numbers that look random and are the same on every machine (xorshift64*). */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1du;
}

#endif
