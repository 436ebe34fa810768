/* All sessions on disk: see store.h. */
#include "cli/session/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/session/owned.h"
#include "cli/session/packs.h"
#include "cli/session/session_cut.h"
#include "cli/session/session_life.h"
#include "cli/session/store_files.h"
#include "tracker/content/contents_name.h"
#include "tracker/content/pack_name.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_map.h"

enum { BLOCK_BYTES = 512 /* stat(2), st_blocks */ };

const char *store_state_name(enum store_state state)
{
	static const char *const NAMES[] = {
#define STATE(name, text) text,
		STORE_STATES(STATE)
#undef STATE
	};
	return NAMES[state];
}

const char *store_age(uint64_t used_realtime_ns, uint64_t now_realtime_ns, char *ret_text)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} UNITS[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	uint64_t age = now_realtime_ns > used_realtime_ns
			       ? (now_realtime_ns - used_realtime_ns) / 1000000000u
			       : 0;
	size_t i = 0;

	while (UNITS[i].seconds > 1 && age < UNITS[i].seconds)
		i++;
	(void)snprintf(ret_text, STORE_AGE_BYTES, "%llu %s",
		       (unsigned long long)(age / UNITS[i].seconds), UNITS[i].name);
	return ret_text;
}

/* ---- listing ---- */

static uint64_t later(uint64_t a, const struct timespec *b)
{
	uint64_t ns = b->tv_sec < 0 ? 0 : (uint64_t)b->tv_sec * 1000000000u + (uint64_t)b->tv_nsec;
	return a > ns ? a : ns;
}

/* What a name is.  Returns 0; -ENOENT: it went meanwhile; -errno. */
static int stat_entry(int directory, const char *name, struct stat *ret_stat)
{
	return fstatat(directory, name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Adds up a content store.  ret_empty: no content is in it, nor a file of another program.  Returns 0 or a negative errno. */
static int measure_contents(int at, struct store_session *session, bool *ret_empty)
{
	int fd = -1;
	int error = session_open_directory(at, CONTENTS_DIRECTORY, &fd);
	DIR *stream = error == 0 ? store_files_list(fd) : NULL;
	struct version version;
	struct stat stat;
	const char *name;

	if (error == 0 && !stream)
		error = -errno;
	*ret_empty = stream != NULL;
	while (error == 0 && (name = store_files_next(stream))) {
		bool is_content = contents_version(name, &version);
		if (is_content || !store_file_is_of_contents(name))
			*ret_empty = false;
		if (!store_file_is_of_contents(name))
			continue;
		error = stat_entry(fd, name, &stat);
		if (error < 0) {
			error = error == -ENOENT ? 0 : error;
			continue;
		}
		session->has_contents |= is_content && S_ISREG(stat.st_mode);
		session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES;
	}
	if (stream && error == 0)
		error = -errno; /* of its end */
	if (stream)
		(void)closedir(stream);
	if (fd >= 0)
		(void)close(fd);
	return error;
}

/* Adds up one directory of a session.  Returns 0 or a negative errno. */
static int measure(int fd, struct store_session *session, bool *ret_unfinished)
{
	DIR *stream = store_files_list(fd);
	int error = stream ? 0 : -errno;
	bool empty_contents = false, others = false;
	struct stat stat;
	const char *name;

	while (error == 0 && (name = store_files_next(stream))) {
		error = stat_entry(fd, name, &stat);
		if (error < 0) {
			error = error == -ENOENT ? 0 : error;
			continue;
		}
		if (strcmp(name, CONTENTS_DIRECTORY) == 0 && S_ISDIR(stat.st_mode)) {
			session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES;
			error = measure_contents(fd, session, &empty_contents);
			continue;
		}
		if (strcmp(name, PACK_DIRECTORY) == 0 && S_ISDIR(stat.st_mode)) {
			uint64_t packs;
			error = packs_size(fd, &packs);
			session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES + packs;
			session->has_contents |= packs > 0;
			session->has_undo |= packs > 0;
			empty_contents |= packs == 0;
			others |= packs > 0;
			continue;
		}
		others = true;
		if (!store_file_is_of_session(name))
			continue;
		bool segment = strcmp(name, STORE_SEGMENT) == 0,
		     journal = strcmp(name, STORE_JOURNAL) == 0;
		session->has_segment |= segment;
		session->has_journal |= journal;
		session->is_uncut |= segment && session_cut_is_due((uint64_t)stat.st_size,
								   (uint64_t)stat.st_blocks);
		*ret_unfinished |= store_file_is_unfinished(name) && S_ISREG(stat.st_mode);
		session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES;
		if (segment || journal)
			session->used_realtime_ns = later(session->used_realtime_ns, &stat.st_mtim);
	}
	if (stream && error == 0)
		error = -errno; /* of its end */
	if (stream)
		(void)closedir(stream);
	/* the process that made it first was killed then */
	*ret_unfinished |= empty_contents && !others;
	if (!session->used_realtime_ns && fstat(fd, &stat) == 0)
		session->used_realtime_ns = later(0, &stat.st_mtim);
	return error;
}

static enum store_state state_of(int error)
{
	switch (error) {
	case -EPROTO:
		return STORE_OTHER_VERSION;
	case -EBADMSG:
		return STORE_DAMAGED;
	case -EPERM:
		return STORE_OTHER_USER;
	case -ELOOP:
	case -EUCLEAN:
		return STORE_UNSAFE;
	default:
		return STORE_UNREADABLE;
	}
}

static void set_problem(struct store_session *session, int problem)
{
	session->problem = problem;
	session->state = state_of(problem);
}

static void read_journal(const char *path, struct store_session *session)
{
	struct journal journal;
	size_t length;
	int error = session_check_path(path);

	if (error == 0)
		error = journal_map_to_read(path, &journal);
	if (error) {
		set_problem(session, error);
		return;
	}
	const char *workspace = journal_bytes(&journal, journal.header->workspace, &length);
	if (!session->workspace && workspace)
		session->workspace = strndup(workspace, length);
	if (!session->created_realtime_ns)
		session->created_realtime_ns = journal.header->created_realtime_ns;
	journal_unmap(&journal);
}

/* What the segment tells: as the other commands find it. */
static void read_segment(const struct config *config, struct store_session *session)
{
	struct session opened;
	int error = session_open_to_read(config, session->name, &opened);

	if (error < 0) {
		set_problem(session, error);
		return;
	}
	const struct segment *segment = &opened.segment;
	const char *workspace = segment_text(segment, segment->settings->paths_workspace, NULL);
	if (workspace)
		session->workspace = strdup(workspace);
	session->created_realtime_ns = segment->header->created_realtime_ns;
	if (session_life(segment) != SESSION_EMPTY)
		session->state = STORE_LIVE;
	session_close(&opened);
}

/* Finds out what a session is that has a directory in `in`.  False: it is none. */
static bool examine(const struct config *config, const struct store *store,
		    struct store_session *session)
{
	char path[SEGMENT_PATH_BYTES];
	bool unfinished = false, held = false;
	int problem = 0, fd;

	for (int place = 0; place < STORE_PLACES; place++) {
		if (!session->in[place])
			continue;
		int error = session_open_directory(store->directories[place].fd, session->name,
						   &fd);
		if (error == -ENOENT || error == -ENOTDIR) {
			session->in[place] = false;
			continue;
		}
		if (error == 0) {
			int unread = measure(fd, session, &unfinished);
			session->is_unmeasured |= unread < 0;
			error = session_check_file(fd, ".");
			error = error ? error : unread;
			held |= store_files_lock(fd) == -EBUSY;
			(void)close(fd);
		}
		problem = problem ? problem : error;
	}
	if (problem) {
		set_problem(session, problem);
		return true;
	}
	if (!session->has_segment && !session->has_journal && session->has_contents) {
		session->state = held ? STORE_LIVE : STORE_CONTENTS_ONLY;
		return true;
	}
	if (!session->has_segment && !session->has_journal) {
		session->state = STORE_UNFINISHED;
		return unfinished;
	}
	session->state = session->has_segment ? STORE_ENDED : STORE_JOURNAL_ONLY;
	if (session->has_segment)
		read_segment(config, session);
	/* The journal of another version's session may be one that this version reads. */
	bool readable = !session->problem || session->problem == -EPROTO;
	for (int place = 0; place < STORE_PLACES && session->has_journal && readable; place++)
		if (session->in[place] &&
		    store_file_path(store, place, session->name, STORE_JOURNAL, path,
				    sizeof(path)) == 0 &&
		    access(path, F_OK) == 0)
			read_journal(path, session);
	if (held && !session->problem)
		session->state = STORE_LIVE;
	return true;
}

static int add(struct store *store, const char *name, enum store_place place)
{
	/* doubled whenever the count is a power of two */
	if ((store->count & (store->count - 1)) == 0) {
		size_t capacity = store->count ? 2 * store->count : 1;
		struct store_session *grown = reallocarray(store->sessions, capacity,
							   sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		store->sessions = grown;
	}
	struct store_session *session = &store->sessions[store->count++];
	*session = (struct store_session){ .problem = 0 };
	session->in[place] = true;
	memcpy(session->name, name, strlen(name) + 1); /* a valid one fits */
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct store_session *)a)->name,
		      ((const struct store_session *)b)->name);
}

static int by_use(const void *a, const void *b)
{
	const struct store_session *first = a, *second = b;

	if (first->used_realtime_ns != second->used_realtime_ns)
		return first->used_realtime_ns > second->used_realtime_ns ? -1 : 1;
	return by_name(a, b);
}

/* Opens a directory of sessions and adds the names in it. */
static int open_directory(struct store *store, enum store_place place)
{
	struct store_directory *directory = &store->directories[place];
	int error = session_open_directory(AT_FDCWD, directory->path, &directory->fd);

	if (error == 0) {
		DIR *stream = store_files_list(directory->fd);
		const char *name;
		if (!stream)
			directory->error = -errno;
		while (error == 0 && stream && (name = store_files_next(stream)))
			if (session_name_is_valid(name))
				error = add(store, name, place);
		if (stream && error == 0 && errno)
			directory->error = -errno;
		if (stream)
			(void)closedir(stream);
		return error;
	}
	directory->fd = -1;
	directory->error = error == -ENOENT ? 0 : error;
	return 0;
}

static bool is_same(const struct store_directory *a, const struct store_directory *b)
{
	struct stat first, second;

	return strcmp(a->path, b->path) == 0 ||
	       (a->fd >= 0 && fstat(a->fd, &first) == 0 && stat(b->path, &second) == 0 &&
		first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/* One session for each name, without those that are none. */
static void merge(const struct config *config, struct store *store)
{
	size_t kept = 0;

	if (store->count)
		qsort(store->sessions, store->count, sizeof(*store->sessions), by_name);
	for (size_t i = 0; i < store->count;) {
		struct store_session *session = &store->sessions[kept];
		*session = store->sessions[i];
		for (i++; i < store->count && strcmp(store->sessions[i].name, session->name) == 0;
		     i++)
			for (int place = 0; place < STORE_PLACES; place++)
				session->in[place] |= store->sessions[i].in[place];
		kept += examine(config, store, session);
	}
	store->count = kept;
	if (kept)
		qsort(store->sessions, kept, sizeof(*store->sessions), by_use);
}

int store_open(const struct config *config, struct store *ret_store)
{
	struct store_directory *runtime = &ret_store->directories[STORE_RUNTIME];
	struct store_directory *state = &ret_store->directories[STORE_STATE];

	*ret_store = (struct store){ .directories = { { .fd = -1 }, { .fd = -1 } } };
	int error = session_runtime_dir(config, runtime->path, sizeof(runtime->path));
	if (error == 0)
		error = session_state_dir(config, state->path, sizeof(state->path));
	if (error == 0)
		error = open_directory(ret_store, STORE_RUNTIME);
	if (error == 0 && !is_same(runtime, state))
		error = open_directory(ret_store, STORE_STATE);
	if (error == 0)
		merge(config, ret_store);
	else
		ret_store->count = 0; /* nothing is owned yet but the list */
	return error;
}

void store_close(struct store *store)
{
	for (size_t i = 0; i < store->count; i++)
		free(store->sessions[i].workspace);
	free(store->sessions);
	for (int place = 0; place < STORE_PLACES; place++)
		if (store->directories[place].path[0] && store->directories[place].fd >= 0)
			(void)close(store->directories[place].fd);
	*store = (struct store){ .count = 0 };
}

bool store_is_readable(const struct store *store)
{
	bool readable = true;

	for (int place = 0; place < STORE_PLACES; place++) {
		const struct store_directory *directory = &store->directories[place];
		if (!directory->error)
			continue;
		message("%s: its sessions cannot be read: %s; name another directory with "
			"--%s-dir",
			directory->path, owned_explain(directory->error),
			place == STORE_RUNTIME ? "runtime" : "state");
		readable = false;
	}
	return readable;
}

const struct store_session *store_find(const struct store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (strcmp(store->sessions[i].name, name) == 0)
			return &store->sessions[i];
	return NULL;
}
