/* Lock files of git: see git_lock.h. */
#include "cli/undo/git_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/undo/git_find.h"
#include "cli/undo/place.h"

enum {
	WAIT_MS = 3000,
	PAUSE_MS = 20,
	NS_OF_MS = 1000000,
	HG_LOCK_BYTES = HOST_NAME_MAX + 64, /* a host, a namespace and a process */
};

struct locking {
	const struct schedule *plan;
	struct git_find find;
	struct git_locks *locks;
	struct places places;
	char last[PATH_MAX]; /* the directory that was locked last: items of one follow each other */
	long left_ms;
};

/* ---- may it be made? ---- */

/* Does the plan itself make or remove this path, or take a directory above it away? */
static bool is_planned(const struct schedule *plan, const char *path)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct schedule_item *item = &plan->items[i];
		const char *planned = schedule_text(plan, item->path);
		size_t length = strlen(planned);
		bool takes = item->kind == SCHEDULE_RMDIR || item->kind == SCHEDULE_STAGE;
		if (strncmp(path, planned, length) == 0 &&
		    (!path[length] || (takes && path[length] == '/')))
			return true;
	}
	return false;
}

/* A lock that an undo left that was killed. */
static bool is_own(const struct git_locks *locks, int directory, const char *name)
{
	char text[GIT_LOCK_OWNER_BYTES];
	size_t length = strlen(locks->owner);
	struct pack_state state;

	/* A device may do something when it is opened. */
	if (place_inspect(directory, name, &state) < 0 || !S_ISREG(state.mode))
		return false;
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		(void)close(fd);
	return got >= 0 && (size_t)got == length && memcmp(text, locks->owner, length) == 0;
}

static void pause_briefly(struct locking *locking)
{
	const struct timespec pause = { .tv_nsec = (long)PAUSE_MS * NS_OF_MS };

	(void)nanosleep(&pause, NULL);
	locking->left_ms -= PAUSE_MS;
	locking->locks->is_late = true;
}

/* On a full disk it is a lock all the same. */
static void write_owner(const struct locking *locking, int fd)
{
	const char *owner = locking->locks->owner;
	ssize_t wrote = write(fd, owner, strlen(owner));

	(void)wrote;
}

/* A file that has its text when it gets its name: a kill leaves none without it.  Returns 0, or a negative
 * errno; -EOPNOTSUPP and others: not on this file system. */
static int make_whole(const struct locking *locking, int directory, const char *name)
{
	char path[sizeof("/proc/self/fd/") + 10];
	int fd = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return -EOPNOTSUPP;
	write_owner(locking, fd);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int error = linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
	(void)close(fd);
	return error;
}

static int make_named(const struct locking *locking, int directory, const char *name)
{
	int error = make_whole(locking, directory, name);

	if (error == 0 || error == -EEXIST)
		return error;
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (fd < 0)
		return -errno;
	write_owner(locking, fd);
	(void)close(fd);
	return 0;
}

/* Returns 0: it is held; -EAGAIN: another program's stays; other negative errnos. */
static int make_file(struct locking *locking, int directory, const char *name)
{
	int error;

	while ((error = make_named(locking, directory, name)) == -EEXIST) {
		if (is_own(locking->locks, directory, name))
			return 0;
		if (locking->left_ms <= 0)
			return -EAGAIN;
		pause_briefly(locking);
	}
	return error;
}

/* Room for one more path is made before its lock: what is made is noted.  Returns 0 or -ENOMEM. */
static int prepare(struct git_locks *locks, const char *path, char **ret_copy)
{
	char **more = reallocarray(locks->paths, locks->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	locks->paths = more;
	*ret_copy = strdup(path);
	return *ret_copy ? 0 : -ENOMEM;
}

/* Returns 0: it is held, or cannot be made at all; -EAGAIN: another program's is there; -ENOMEM. */
static int note_made(struct git_locks *locks, char *copy, int error)
{
	if (error == 0)
		locks->paths[locks->count++] = copy;
	else if (error == -EAGAIN)
		locks->blocked = copy;
	else
		free(copy);
	return error == -EAGAIN || error == -ENOMEM ? error : 0;
}

/* One that cannot be made at all git cannot make, either. */
static int make_lock(struct locking *locking, const char *path)
{
	struct git_locks *locks = locking->locks;
	char *copy;
	const char *name;
	int directory, error = prepare(locks, path, &copy);

	if (error < 0)
		return error;
	error = place_of(&locking->places, path, &directory, &name);
	if (error == 0 && locks->directory >= 0)
		lock_list_add(locks->directory, path, "");
	error = error ? error : make_file(locking, directory, name);
	return note_made(locks, copy, error);
}

static bool holds(const struct git_locks *locks, const char *path)
{
	for (size_t i = 0; i < locks->count; i++)
		if (strcmp(locks->paths[i], path) == 0)
			return true;
	return false;
}

static bool is_lock_name(const char *path)
{
	static const char END[] = ".lock";
	size_t length = strlen(path);

	return length >= sizeof(END) && strcmp(path + length - (sizeof(END) - 1), END) == 0;
}

bool git_locks_has(const struct git_locks *locks, const char *path)
{
	struct places places;
	const char *name;
	int directory;

	if (!locks || holds(locks, path))
		return locks != NULL;
	if (!is_lock_name(path) || places_open(&places) < 0)
		return false;
	bool is_left = place_of(&places, path, &directory, &name) == 0 &&
		       is_own(locks, directory, name);
	places_close(&places);
	return is_left;
}

/* ---- hg's locks ---- */

/* What hg calls this host, as its symbolic links name it before a colon and a process. */
static bool read_host(char *ret_host, size_t capacity)
{
	struct stat namespace;
	char name[HOST_NAME_MAX + 1];

	if (gethostname(name, sizeof(name)) < 0)
		return false;
	name[sizeof(name) - 1] = '\0';
	return stat("/proc/self/ns/pid", &namespace) == 0
		       ? snprintf(ret_host, capacity, "%s/%llx:", name,
				  (unsigned long long)namespace.st_ino) < (int)capacity
		       : snprintf(ret_host, capacity, "%s:", name) < (int)capacity;
}

/* What a lock of this process has.  ret_text: HG_LOCK_BYTES. */
static bool write_holder(char *ret_text)
{
	char host[HG_LOCK_BYTES];

	return read_host(host, sizeof(host)) &&
	       snprintf(ret_text, HG_LOCK_BYTES, "%s%ld", host, (long)getpid()) < HG_LOCK_BYTES;
}

/* Whose lock it is, by its own words.  ret_text: HG_LOCK_BYTES. */
static bool read_holder(int directory, const char *name, char *ret_text)
{
	ssize_t length = readlinkat(directory, name, ret_text, HG_LOCK_BYTES - 1);

	if (length <= 0)
		return false;
	ret_text[length] = '\0';
	return true;
}

/* Is it of a process of this host that has ended?  hg removes such a lock, too. */
static bool is_forsaken(int directory, const char *name)
{
	char text[HG_LOCK_BYTES], host[HG_LOCK_BYTES];

	if (!read_holder(directory, name, text) || !read_host(host, sizeof(host)))
		return false;
	size_t bytes = strlen(host);
	long pid = strncmp(text, host, bytes) == 0 ? strtol(text + bytes, NULL, 10) : 0;
	return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Is it the link of an undo that was killed, where this host had another name, or processes other numbers?  Else the
 * rule of hg tells. */
static bool is_left(const struct git_locks *locks, const char *path, int directory,
		    const char *name)
{
	char text[HG_LOCK_BYTES], host[HG_LOCK_BYTES];
	bool is = false;

	if (!locks || !locks->left.count || !read_holder(directory, name, text) ||
	    !read_host(host, sizeof(host)))
		return false;
	for (size_t i = 0; i < locks->left.count && !is; i++)
		is = strcmp(locks->left.locks[i].path, path) == 0 &&
		     strcmp(locks->left.locks[i].text, text) == 0;
	return is && strncmp(text, host, strlen(host)) != 0;
}

static bool is_dead(const struct git_locks *locks, const char *path, int directory,
		    const char *name)
{
	return is_forsaken(directory, name) || is_left(locks, path, directory, name);
}

bool git_locks_has_other(const struct git_locks *locks, const char *path)
{
	struct places places;
	struct pack_state state;
	const char *name;
	int directory;

	if ((locks && holds(locks, path)) || places_open(&places) < 0)
		return false;
	bool is_held = place_of(&places, path, &directory, &name) == 0 &&
		       place_inspect(directory, name, &state) == 0 &&
		       !is_dead(locks, path, directory, name);
	places_close(&places);
	return is_held;
}

/* Removes a lock whose process has ended.  hg removes one only while it holds NAME.break, too: else what is
 * removed could be the lock of a process that removed the dead one before.  Returns whether it did. */
static bool break_link(const struct git_locks *locks, const char *path, int directory,
		       const char *name)
{
	char guard[NAME_MAX + 1], text[HG_LOCK_BYTES];

	if (!is_dead(locks, path, directory, name) || !write_holder(text) ||
	    snprintf(guard, sizeof(guard), "%s.break", name) >= (int)sizeof(guard) ||
	    symlinkat(text, directory, guard) < 0)
		return false;
	bool is_removed = is_dead(locks, path, directory, name) &&
			  unlinkat(directory, name, 0) == 0;
	(void)unlinkat(directory, guard, 0);
	return is_removed;
}

/* Returns 0, -EEXIST, or other negative errnos. */
static int make_new_link(const struct git_locks *locks, const char *path, int directory,
			 const char *name)
{
	char text[HG_LOCK_BYTES];

	if (!write_holder(text))
		return -ENAMETOOLONG;
	if (locks->directory >= 0)
		lock_list_add(locks->directory, path, text);
	return symlinkat(text, directory, name) < 0 ? -errno : 0;
}

static int make_link(struct locking *locking, const char *path)
{
	char *copy;
	const char *name;
	int directory, error = prepare(locking->locks, path, &copy);

	if (error < 0)
		return error;
	error = place_of(&locking->places, path, &directory, &name);
	if (error == 0) {
		(void)break_link(locking->locks, path, directory, name);
		error = make_new_link(locking->locks, path, directory, name);
	}
	return note_made(locking->locks, copy, error == -EEXIST ? -EAGAIN : error);
}

/* hg's locks are held; of others it is inspected whether they were taken behind the plan. */
static int lock_other(struct locking *locking, const char *directory)
{
	struct git_locks *locks = locking->locks;
	const char *lock, *name = strrchr(directory, '/');
	bool is_hg = name && strcmp(name, "/.hg") == 0;
	char path[PATH_MAX];
	int error = 0;

	for (size_t i = 0; error == 0 && (lock = git_find_other_lock(i)); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", directory, lock) >= (int)sizeof(path) ||
		    holds(locks, path) || is_planned(locking->plan, path))
			continue;
		if (is_hg && i < GIT_FIND_HG_LOCKS)
			error = make_link(locking, path);
		if (git_locks_has_other(locks, path))
			locks->is_late = true;
	}
	return error;
}

/* ---- what is locked ---- */

static int lock_directory(struct locking *locking, const char *directory, bool is_worktree)
{
	static const char *const NAMES[] = { "HEAD", "index", "packed-refs" };
	char path[PATH_MAX];
	int error = 0;

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES) - is_worktree && error == 0; i++) {
		int length = snprintf(path, sizeof(path), "%s/%s.lock", directory, NAMES[i]);
		if (length < (int)sizeof(path) && !holds(locking->locks, path) &&
		    !is_planned(locking->plan, path))
			error = make_lock(locking, path);
	}
	return error;
}

/* Length of its git directory, as it is on disk; 0: none. */
static size_t find_directory(struct locking *locking, const char *path)
{
	static const struct tree_changes NONE = { .count = 0 };
	const struct making disk = { .changes = &NONE };

	return git_find_directory(&locking->find, &disk, path);
}

static enum git_class class_of(struct locking *locking, const char *path)
{
	size_t length = find_directory(locking, path);

	return length ? git_find_class(path, length) : GIT_NONE;
}

static int lock_item(struct locking *locking, const char *path)
{
	char directory[PATH_MAX];
	size_t length = find_directory(locking, path);
	enum git_class class = class_of(locking, path);
	size_t worktree = git_find_worktree(length && path[length] ? path + length + 1 : "");

	if ((class != GIT_STATE && class != GIT_LOG && class != GIT_OTHER) ||
	    length + worktree + 1 >= sizeof(directory))
		return 0;
	worktree = class == GIT_OTHER ? 0 : worktree;
	memcpy(directory, path, length + worktree);
	directory[length + worktree] = '\0';
	if (strcmp(directory, locking->last) == 0)
		return 0;
	strcpy(locking->last, directory);
	if (class == GIT_OTHER)
		return lock_other(locking, directory);
	/* A worktree has the branches of its repository. */
	int error = worktree ? lock_directory(locking, directory, true) : 0;
	directory[length] = '\0';
	return error ? error : lock_directory(locking, directory, false);
}

/* Is what the plan found of git's state still there? */
static bool is_as_found(struct locking *locking)
{
	const struct schedule *plan = locking->plan;

	for (size_t i = 0; i < plan->count; i++) {
		const struct schedule_item *item = &plan->items[i];
		const char *path = schedule_text(plan, item->path);
		struct pack_state state;
		if (item->state != SCHEDULE_TODO ||
		    (item->kind != SCHEDULE_REMOVE && item->kind != SCHEDULE_SWAP) ||
		    class_of(locking, path) != GIT_STATE)
			continue;
		if (place_inspect(AT_FDCWD, path, &state) < 0 ||
		    !place_is_same(&state, &item->found))
			return false;
	}
	return true;
}

void git_locks_init(const char *undo, struct git_locks *ret_locks)
{
	*ret_locks = (struct git_locks){ .directory = -1 };
	(void)snprintf(ret_locks->owner, sizeof(ret_locks->owner), "seen undo %s\n", undo);
}

void git_locks_find_left(int directory, bool writes, struct git_locks *locks)
{
	locks->directory = writes ? directory : -1;
	lock_list_read(directory, &locks->left);
}

/* A link is the undo's by the text that it noted: another's with that name is none. */
static bool remove_one(const struct git_locks *locks, const struct lock_made *lock, int directory,
		       const char *name)
{
	char text[HG_LOCK_BYTES];

	if (!lock->text[0])
		return is_own(locks, directory, name) && unlinkat(directory, name, 0) == 0;
	return read_holder(directory, name, text) && strcmp(text, lock->text) == 0 &&
	       break_link(locks, lock->path, directory, name);
}

size_t git_locks_remove_left(struct git_locks *locks)
{
	struct places places;
	struct pack_state state;
	const char *name;
	bool is_asked = locks->directory >= 0 && locks->left.count;
	int directory, error = is_asked ? places_open(&places) : -ENOENT;
	size_t removed = 0, stay = 0;

	if (error < 0)
		return 0;
	for (size_t i = 0; i < locks->left.count; i++) {
		const struct lock_made lock = locks->left.locks[i];
		if (holds(locks, lock.path) || place_state(&places, lock.path, &state) == -ENOENT)
			continue;
		if (place_of(&places, lock.path, &directory, &name) == 0 &&
		    remove_one(locks, &lock, directory, name))
			removed++;
		else
			locks->left.locks[stay++] = lock;
	}
	places_close(&places);
	locks->left.count = stay;
	return removed;
}

int git_locks_acquire(const struct schedule *plan, struct git_locks *locks)
{
	struct locking *locking = calloc(1, sizeof(*locking));
	int error = locking ? 0 : -ENOMEM;

	if (locking) {
		locking->plan = plan;
		locking->locks = locks;
		locking->left_ms = WAIT_MS;
	}
	if (error == 0)
		error = places_open(&locking->places);
	for (size_t i = 0; i < plan->count && error == 0; i++)
		error = lock_item(locking, schedule_text(plan, plan->items[i].path));
	if (locking)
		places_close(&locking->places);
	if (error == 0 && locks->count && !is_as_found(locking))
		locks->is_late = true;
	free(locking);
	return error;
}

void git_locks_release(struct git_locks *locks)
{
	struct places places;
	const char *name;
	int directory, error = locks->count ? places_open(&places) : -ENOENT;
	size_t stay = locks->left.count;

	for (size_t i = 0; i < locks->count; i++) {
		int reached = error ? error : place_of(&places, locks->paths[i], &directory, &name);
		if (reached != 0 || (unlinkat(directory, name, 0) < 0 && errno != ENOENT))
			stay++;
		free(locks->paths[i]);
	}
	if (error == 0)
		places_close(&places);
	if (locks->directory >= 0 && !stay)
		lock_list_remove(locks->directory);
	lock_list_free(&locks->left);
	free(locks->paths);
	free(locks->blocked);
	*locks = (struct git_locks){ .directory = -1 };
}
