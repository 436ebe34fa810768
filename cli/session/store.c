/* All sessions on disk: see store.h. */
#include "cli/session/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/session/journal_file.h"
#include "cli/session/owned.h"
#include "cli/session/session_life.h"
#include "tracker/content/contents.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_map.h"

static const char SEGMENT[] = "segment", JOURNAL[] = "journal";
/* Begins no session's name; the name and the pid of who removes it follow. */
static const char GONE[] = ".gone.";

enum {
	GONE_BYTES = sizeof(GONE) + SEGMENT_NAME_BYTES + 16,
	BLOCK_BYTES = 512, /* stat(2), st_blocks */
	LOCK_ATTEMPTS = 5, /* another `seen sessions` may be looking */
};

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

/* ---- what is in a directory ---- */

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* What segment_create() and journal_create() build first: NAME, pid, a dot, a time in
 * hexadecimal. */
static bool is_unfinished(const char *name)
{
	static const char *const BEGINNINGS[] = { ".segment.", "journal." };

	for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
		if (!begins_with(name, BEGINNINGS[i]))
			continue;
		const char *pid = name + strlen(BEGINNINGS[i]);
		size_t digits = strspn(pid, "0123456789");
		const char *time = pid + digits + 1;
		return digits && pid[digits] == '.' && *time &&
		       time[strspn(time, "0123456789abcdef")] == '\0';
	}
	return false;
}

/* What `seen run` keeps of the task, builds it as, and renamed because it could not use it. */
static bool is_metadata(const char *name)
{
	if (!begins_with(name, METADATA_NAME))
		return false;
	const char *rest = name + strlen(METADATA_NAME);
	return !rest[0] || strcmp(rest, ".new") == 0 || begins_with(rest, ".aside-");
}

static bool is_of_session(const char *name)
{
	return strcmp(name, SEGMENT) == 0 || strcmp(name, JOURNAL) == 0 ||
	       strcmp(name, "seal") == 0 || is_metadata(name) || is_unfinished(name);
}

/* In the directory of its content store. */
static bool is_of_contents(const char *name)
{
	struct version version;
	uint64_t pid;

	return contents_version(name, &version) || contents_is_temporary(name, &pid) ||
	       contents_is_inputs(name) || strcmp(name, CONTENTS_INDEX) == 0;
}

/* Opens a directory a second time, to list it; NULL and errno on failure. */
static DIR *list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	if (!stream && copy >= 0)
		(void)close(copy);
	return stream;
}

/* The next entry but the directory itself and the one above it; NULL at the end. */
static const char *next_name(DIR *stream)
{
	struct dirent *entry;

	do
		entry = readdir(stream);
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

/* ---- locks ---- */

/* Locks a session's directory against use and removal. */
static int lock(int fd)
{
	static const struct timespec PAUSE = { .tv_nsec = 2000000 };

	for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		(void)nanosleep(&PAUSE, NULL);
	}
	return -EBUSY;
}

/* Does anybody have a file open to write?  A mapping counts, and so does a process that cannot be
 * seen from here: the kernel grants a lease for reading only where there is none.  Returns -EBUSY,
 * 0, or another errno where that is not known. */
static int ask_writers(int directory, const char *name)
{
	struct stat stat;
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	int error = fstat(fd, &stat) < 0 ? -errno : 0;
	if (error == 0 && S_ISREG(stat.st_mode)) {
		error = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 ? -errno : 0;
		if (error == 0)
			(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	}
	(void)close(fd);
	return error == -EAGAIN ? -EBUSY : error;
}

/* ---- listing ---- */

static uint64_t later(uint64_t a, const struct timespec *b)
{
	uint64_t ns = b->tv_sec < 0 ? 0 : (uint64_t)b->tv_sec * 1000000000u + (uint64_t)b->tv_nsec;
	return a > ns ? a : ns;
}

/* Adds up a content store.  ret_empty: nothing is in it. */
static void measure_contents(int at, struct store_session *session, bool *ret_empty)
{
	int fd = -1;
	DIR *stream = session_open_directory(at, CONTENTS_DIRECTORY, &fd) == 0 ? list(fd) : NULL;
	struct version version;
	struct stat stat;
	const char *name;

	*ret_empty = stream != NULL;
	while (stream && (name = next_name(stream))) {
		*ret_empty = false;
		if (!is_of_contents(name) || fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		session->has_contents |= contents_version(name, &version) && S_ISREG(stat.st_mode);
		session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES;
	}
	if (stream)
		(void)closedir(stream);
	if (fd >= 0)
		(void)close(fd);
}

/* Adds up one directory of a session. */
static void measure(int fd, struct store_session *session, bool *ret_unfinished)
{
	DIR *stream = list(fd);
	bool empty_contents = false, others = false;
	struct stat stat;
	const char *name;

	while (stream && (name = next_name(stream))) {
		if (fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (strcmp(name, CONTENTS_DIRECTORY) == 0 && S_ISDIR(stat.st_mode)) {
			session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES;
			measure_contents(fd, session, &empty_contents);
			continue;
		}
		others = true;
		if (!is_of_session(name))
			continue;
		bool segment = strcmp(name, SEGMENT) == 0, journal = strcmp(name, JOURNAL) == 0;
		session->has_segment |= segment;
		session->has_journal |= journal;
		*ret_unfinished |= is_unfinished(name) && S_ISREG(stat.st_mode);
		session->size_bytes += (uint64_t)stat.st_blocks * BLOCK_BYTES;
		if (segment || journal)
			session->used_realtime_ns = later(session->used_realtime_ns, &stat.st_mtim);
	}
	if (stream)
		(void)closedir(stream);
	/* the process that made it first was killed then */
	*ret_unfinished |= empty_contents && !others;
	if (!session->used_realtime_ns && fstat(fd, &stat) == 0)
		session->used_realtime_ns = later(0, &stat.st_mtim);
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

/* Path of a file of a session. */
static int path_of(const struct store *store, enum store_place place, const char *name,
		   const char *file, char *ret_path, size_t capacity)
{
	char directory[SEGMENT_PATH_BYTES];
	int error = session_path(directory, sizeof(directory), store->directories[place].path,
				 name);
	return error == 0 ? session_path(ret_path, capacity, directory, file) : error;
}

static void read_journal(const char *path, struct store_session *session)
{
	struct journal journal;
	size_t length;
	int error = journal_file_check(path);

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
	int error = session_open(config, session->name, &opened);

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
			measure(fd, session, &unfinished);
			error = session_check_file(fd, ".");
			held |= lock(fd) == -EBUSY;
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
	for (int place = 0; place < STORE_PLACES && session->has_journal && !session->problem;
	     place++)
		if (session->in[place] &&
		    path_of(store, place, session->name, JOURNAL, path, sizeof(path)) == 0 &&
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
		DIR *stream = list(directory->fd);
		const char *name;
		if (!stream)
			directory->error = -errno;
		while (error == 0 && stream && (name = next_name(stream)))
			if (session_name_is_valid(name))
				error = add(store, name, place);
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
		message("%s: its sessions cannot be read: %s; name another folder with "
			"--%s-dir",
			directory->path, session_explain(directory->error),
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

/* ---- removing ---- */

/* A session that is about to be removed: its directories, locked. */
struct claim {
	int fds[STORE_PLACES]; /* -1: it has none there */
};

static void set_trouble(const struct store_directory *directory, const char *name,
			struct store_trouble *ret_trouble)
{
	ret_trouble->stranger[0] = '\0';
	if (session_path(ret_trouble->path, sizeof(ret_trouble->path), directory->path, name) < 0)
		(void)snprintf(ret_trouble->path, sizeof(ret_trouble->path), "%s", directory->path);
}

/* Opens and locks a directory, and makes sure that it is still the one of that name.  Returns
 * -EBUSY, -ENOENT, others. */
static int open_locked(int parent, const char *name, int *ret_fd)
{
	struct stat held, named;
	int fd = -1;
	int error = session_open_directory(parent, name, &fd);

	if (error == 0)
		error = lock(fd);
	if (error == 0 &&
	    (fstat(fd, &held) < 0 || fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	     held.st_dev != named.st_dev || held.st_ino != named.st_ino))
		error = -ENOENT;
	if (error == 0)
		*ret_fd = fd;
	else if (fd >= 0)
		(void)close(fd);
	return error;
}

static void release(struct claim *claim)
{
	for (int place = 0; place < STORE_PLACES; place++)
		if (claim->fds[place] >= 0)
			(void)close(claim->fds[place]);
}

/* Is a session in use whose directory no process holds?  Its directories are locked. */
static int judge(const struct store *store, const struct store_session *session,
		 const struct claim *claim)
{
	static const char *const FILES[] = { SEGMENT, JOURNAL };
	char path[SEGMENT_PATH_BYTES];
	struct segment segment;
	bool is_answered = true;
	/* Without a segment no process can be found; the journal is then as good as unused. */
	enum session_life life = SESSION_EMPTY;

	/* before anything is mapped here: this process would be the one that has it open */
	for (int place = 0; place < STORE_PLACES; place++)
		for (int i = 0; claim->fds[place] >= 0 && i < 2; i++) {
			int error = ask_writers(claim->fds[place], FILES[i]);
			if (error == -EBUSY)
				return error;
			is_answered &= error == 0;
		}
	for (int place = 0; place < STORE_PLACES; place++) {
		if (claim->fds[place] < 0 ||
		    path_of(store, place, session->name, SEGMENT, path, sizeof(path)) < 0)
			continue;
		int error = segment_map(path, &segment);
		if (error == 0) {
			life = session_life(&segment);
			segment_unmap(&segment);
		} else if (error != -ENOENT) {
			life = SESSION_UNSURE;
		}
	}
	return life == SESSION_LIVED_IN || (life == SESSION_UNSURE && !is_answered) ? -EBUSY : 0;
}

static int claim(const struct store *store, const struct store_session *session,
		 struct claim *ret_claim, struct store_trouble *ret_trouble)
{
	int found = 0, error = 0;

	*ret_claim = (struct claim){ { -1, -1 } };
	if (session->state == STORE_OTHER_USER || session->state == STORE_UNSAFE) {
		set_trouble(&store->directories[session->in[STORE_RUNTIME] ? STORE_RUNTIME
									   : STORE_STATE],
			    session->name, ret_trouble);
		return session->problem;
	}
	for (int place = 0; place < STORE_PLACES && error == 0; place++) {
		if (!session->in[place])
			continue;
		error = open_locked(store->directories[place].fd, session->name,
				    &ret_claim->fds[place]);
		found += error == 0;
		if (error == -ENOENT)
			error = 0;
		else if (error < 0)
			set_trouble(&store->directories[place], session->name, ret_trouble);
	}
	if (error == 0)
		error = found ? judge(store, session, ret_claim) : -ENOENT;
	if (error < 0)
		release(ret_claim);
	return error;
}

static bool is_own_file(int fd, const char *name)
{
	struct stat stat;
	return fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode) &&
	       stat.st_uid == geteuid();
}

/* Removes a content store from a directory that has been locked.  Returns and ret_name: as
 * empty(). */
static int remove_contents(int at, char *ret_name, size_t capacity)
{
	int fd = -1;
	int error = session_open_directory(at, CONTENTS_DIRECTORY, &fd);
	DIR *stream = error == 0 ? list(fd) : NULL;
	const char *name;

	(void)snprintf(ret_name, capacity, "%s", CONTENTS_DIRECTORY);
	if (error < 0)
		return error == -ELOOP || error == -ENOTDIR || error == -EPERM ? -EEXIST : error;
	error = stream ? 0 : -errno;
	while (stream && (name = next_name(stream))) {
		bool is_own = is_of_contents(name) && is_own_file(fd, name);
		if ((is_own && (unlinkat(fd, name, 0) == 0 || errno == ENOENT)) || error < 0)
			continue;
		error = is_own ? -errno : -EEXIST;
		(void)snprintf(ret_name, capacity, "%s/%s", CONTENTS_DIRECTORY, name);
	}
	if (stream)
		(void)closedir(stream);
	(void)close(fd);
	if (error == 0 && unlinkat(at, CONTENTS_DIRECTORY, AT_REMOVEDIR) < 0)
		error = -errno;
	return error;
}

/* Removes the files of a session from a directory.  Returns 0; -EEXIST when there is something
 * else; an error. */
static int empty(int fd, struct store_trouble *ret_trouble)
{
	char contents[sizeof(ret_trouble->stranger)];
	DIR *stream = list(fd);
	const char *name;
	int error = stream ? 0 : -errno;

	while (stream && (name = next_name(stream))) {
		bool is_own = is_of_session(name) && is_own_file(fd, name);
		const char *stranger = name;
		int failed = is_own ? (unlinkat(fd, name, 0) < 0 ? -errno : 0) : -EEXIST;
		if (strcmp(name, CONTENTS_DIRECTORY) == 0) {
			failed = remove_contents(fd, contents, sizeof(contents));
			stranger = contents;
		}
		if (failed == 0 || failed == -ENOENT || error < 0)
			continue;
		error = failed;
		(void)snprintf(ret_trouble->stranger, sizeof(ret_trouble->stranger), "%s",
			       stranger);
	}
	if (stream)
		(void)closedir(stream);
	return error;
}

/* Empties a directory that was renamed, and removes it. */
static int dispose(const struct store_directory *directory, const char *gone, int fd,
		   struct store_trouble *ret_trouble)
{
	set_trouble(directory, gone, ret_trouble);
	int error = empty(fd, ret_trouble);
	if (error == 0 && unlinkat(directory->fd, gone, AT_REMOVEDIR) < 0 && errno != ENOENT)
		error = -errno;
	return error;
}

static int remove_from(const struct store_directory *directory, const char *name, int fd,
		       struct store_trouble *ret_trouble)
{
	char gone[GONE_BYTES];

	(void)snprintf(gone, sizeof(gone), "%s%s.%d", GONE, name, (int)getpid());
	set_trouble(directory, name, ret_trouble);
	if (renameat2(directory->fd, name, directory->fd, gone, RENAME_NOREPLACE) < 0)
		return -errno;
	int error = dispose(directory, gone, fd, ret_trouble);
	/* What is not ours stays where its owner put it. */
	if (error < 0 && renameat2(directory->fd, gone, directory->fd, name, RENAME_NOREPLACE) == 0)
		(void)session_path(ret_trouble->path, sizeof(ret_trouble->path), directory->path,
				   name);
	return error;
}

int store_remove(const struct store *store, const struct store_session *session, bool only_try,
		 struct store_trouble *ret_trouble)
{
	struct claim claimed;
	int error = claim(store, session, &claimed, ret_trouble);

	if (error < 0)
		return error;
	for (int place = 0; place < STORE_PLACES && !only_try; place++) {
		if (claimed.fds[place] < 0)
			continue;
		struct store_trouble trouble;
		int failed = remove_from(&store->directories[place], session->name,
					 claimed.fds[place], &trouble);
		if (failed < 0) {
			error = failed;
			*ret_trouble = trouble;
		}
		if (failed < 0 && failed != -EEXIST)
			break; /* the rest is still a session */
	}
	release(&claimed);
	return error;
}

int store_clean(const struct store *store, struct store_trouble *ret_trouble)
{
	int result = 0;

	for (int place = 0; place < STORE_PLACES; place++) {
		const struct store_directory *directory = &store->directories[place];
		DIR *stream = directory->fd >= 0 ? list(directory->fd) : NULL;
		const char *name;
		while (stream && (name = next_name(stream))) {
			int fd;
			if (!begins_with(name, GONE))
				continue;
			int error = open_locked(directory->fd, name, &fd);
			if (error == 0) {
				error = dispose(directory, name, fd, ret_trouble);
				(void)close(fd);
			} else {
				set_trouble(directory, name, ret_trouble);
			}
			if (error < 0 && error != -EBUSY && error != -ENOENT)
				result = error;
		}
		if (stream)
			(void)closedir(stream);
	}
	return result;
}
