/*
 * `seen restore`: brings a kept version of a file back.
 *
 * What is on disk is kept first.  It is only replaced when it is one that is kept or that the
 * session knows: else another writer changed the file since, and a restore that did not know would
 * lose sight of that.  --force replaces it all the same.
 *
 * To the tracker, this is a write like any other.  By a person outside the session it is an
 * external change: the watcher finds it, and an agent that knows another version is warned before
 * it overwrites it.  By a process of the session it is the session's own: the version becomes what
 * the session last wrote (`written`), also where this process was not observed, so that it is never
 * taken for the user's.  No baseline moves here: what a scope takes the file for is what it was
 * given, and where it is observed the guard moves it as for every write.  [guard] stale_write =
 * deny refuses a restore by the agent over a change that it has not seen, --force or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/file_record.h"
#include "cli/session/session.h"
#include "cli/undo/versions.h"
#include "cli/undo/versions_command.h"
#include "cli/undo/versions_pack.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/path.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"

static const char *session_name;
static bool force;

static const struct option_spec SPECS[] = {
	{ "--force", NULL, "also replace content that is neither kept nor known", &force, NULL },
	{ "--session", "ID", "of this session; default: of all sessions of the workspace", NULL,
	  &session_name },
};

static const struct options OPTIONS = {
	.usage = "restore [OPTION...] [PATH] VERSION",
	.summary = "Writes a kept version back to its file, or creates the file again. VERSION: "
		   "its first digits in `seen versions`. PATH may be left out where only one file "
		   "had that version. The content on disk is kept first. It is replaced only if it "
		   "is a version that is kept already, or that the session knows.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* What is to be replaced. */
struct target {
	const struct segment *segment; /* NULL: no session of the workspace has one any more */
	const struct versions *versions;
	const char *path;               /* absolute */
	const char *name;               /* for messages */
	const struct versions_row *row; /* that is wanted */
	struct version wanted;
	mode_t mode; /* that it had; VERSIONS_NO_MODE */
	int fd;      /* of what is on disk; -1: nothing, or it cannot be read */
	bool exists;
	struct stat stat;
	struct version version; /* of what is on disk; none: nothing, or it cannot be read */
	bool kept;              /* it is in the store by now */
	char beside[SEGMENT_PATH_BYTES]; /* "": nothing there */
};

/* ---- what is on disk ---- */

static bool inspect_target(struct target *target)
{
	struct content content;

	target->fd = versions_open_file(target->path, &target->stat);
	if (target->fd == -ENOENT || target->fd == -ENOTDIR) {
		target->fd = -1;
		return true;
	}
	int error = target->fd < 0 ? target->fd : 0;
	if (error == -EINVAL || error == -ELOOP) {
		message("%s: no regular file: it is left as it is", target->name);
		return false;
	}
	if (error == 0)
		error = content_of_descriptor(target->fd, UINT64_MAX, &content);
	target->exists = true;
	if (error == 0) {
		target->version = content.version;
		return true;
	}
	if (!force)
		message("%s: it cannot be read, so it cannot be kept first: %s; --force "
			"replaces it "
			"all the same",
			target->name, strerror(-error));
	return force && lstat(target->path, &target->stat) == 0;
}

/* Is it as it was inspected? */
static bool is_unchanged(const struct target *target)
{
	struct stat stat;

	if (lstat(target->path, &stat) < 0)
		return !target->exists && (errno == ENOENT || errno == ENOTDIR);
	if (!target->exists)
		return false;
	struct stamp before = stamp_of(&target->stat), now = stamp_of(&stat);
	return stamp_equal(&before, &now);
}

struct search {
	uint64_t file_key;
	const struct version *version;
};

static int is_baseline(uint64_t scope_id, uint64_t file_key, const struct version *version,
		       void *data)
{
	const struct search *search = data;

	(void)scope_id;
	return file_key == search->file_key && version_equal(version, search->version);
}

/* Is it a version that is kept, or that a process of the session was given, has read, or made? */
static bool is_known(const struct target *target)
{
	const struct version *version = &target->version;
	struct file_slot file;

	if (versions_has(target->versions, version))
		return true;
	if (!target->segment)
		return false;
	if (contents_has(target->segment, version) ||
	    versions_pack_left(segment_undo(target->segment), target->path, &target->stat))
		return true;
	struct search search = { path_key(target->segment, target->path), version };
	if (file_find(target->segment, search.file_key, &file) == 0 &&
	    (version_equal(version, &file.version) || version_equal(version, &file.written) ||
	     /* what the session wrote over an external change, which is kept */
	     (version_equal(version, &file.external) &&
	      source_is_session((enum source)file.source))))
		return true;
	return baseline_each(target->segment, is_baseline, &search) != 0;
}

/* ---- keeping it ---- */

static void record_kept(const struct session *session, const char *path,
			const struct version *version)
{
	struct file_record record = { .op = JOURNAL_KEPT,
				      .path = path,
				      .after = *version,
				      .reason = CONTENTS_RESTORED,
				      .tid = (uint32_t)getpid() };
	struct journal journal;

	if (session_map_journal(session, &journal) == 0)
		file_record_write(&session->segment, &journal, &record);
	journal_unmap(&journal);
}

static bool keep(const struct session *session, struct target *target)
{
	struct version kept;

	if (target->fd < 0 || (!target->segment && is_known(target)))
		return true;
	int error = !target->segment ? -ENOENT
				     : contents_save(target->segment, target->fd, target->path,
						     CONTENTS_RESTORED, &kept);
	target->kept = error == 0;
	if (target->kept)
		record_kept(session, target->path, &kept);
	if (target->kept && !version_equal(&kept, &target->version)) {
		message("%s: another program is changing it; try again", target->name);
		return false;
	}
	if (target->kept || force)
		return true;
	message("%s: what is there now cannot be kept: %s; --force replaces it all the same",
		target->name,
		error == -EFBIG    ? "it is larger than [content] max_file_bytes, or max_bytes"
		: error == -ENOENT ? "no session of this workspace keeps versions any more"
				   : strerror(-error));
	return false;
}

/* ---- replacing it ---- */

static void drop_beside(struct target *target)
{
	if (target->beside[0])
		(void)unlink(target->beside);
	target->beside[0] = '\0';
}

/* Makes the directories above a path where they are gone. */
static void make_parents(const char *path)
{
	char parent[SEGMENT_PATH_BYTES];

	if (snprintf(parent, sizeof(parent), "%s", path) >= (int)sizeof(parent))
		return;
	for (char *at = strchr(parent + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(parent, 0777); /* the file's creation reports it */
		*at = '/';
	}
}

/* Whose the new file is, and its mode: as of what it replaces.  One that is gone has the
 * permissions that it had, without set-user-ID and the like, since its owner may be another one
 * now; where they are not known, they are this user's alone. */
static int dress(const struct target *target, int fd)
{
	mode_t kept = target->mode == VERSIONS_NO_MODE ? 0600 : target->mode & 0777;

	if (target->exists &&
	    (target->stat.st_uid != geteuid() || target->stat.st_gid != getegid()) &&
	    fchown(fd, target->stat.st_uid, target->stat.st_gid) < 0)
		return -errno;
	mode_t mode = target->exists ? target->stat.st_mode & 07777 : kept;
	return fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_version(const struct target *target, int fd)
{
	int from = versions_open(target->versions, target->row);

	if (from < 0)
		return from;
	int error = contents_restore_from(from, &target->wanted, fd);
	(void)close(from);
	return error;
}

/* Writes the version into a file beside it.  -EACCES and the like: not in that directory, or not
 * with that owner. */
static int write_beside(struct target *target)
{
	const char *slash = strrchr(target->path, '/');
	char path[SEGMENT_PATH_BYTES];

	if (snprintf(path, sizeof(path), "%.*s/.seen-restore.%d", (int)(slash - target->path),
		     target->path, (int)getpid()) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (!target->exists)
		make_parents(target->path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	memcpy(target->beside, path, strlen(path) + 1);
	int error = write_version(target, fd);
	if (error == 0)
		error = dress(target, fd);
	if (close(fd) < 0 && error == 0)
		error = -errno;
	if (error < 0)
		drop_beside(target);
	return error;
}

/* Gives the file beside it its name. */
static int install_file(struct target *target)
{
	int error = 0;

	if (target->exists) {
		if (rename(target->beside, target->path) < 0)
			error = -errno;
	} else if (renameat2(AT_FDCWD, target->beside, AT_FDCWD, target->path, RENAME_NOREPLACE) <
		   0) {
		error = -errno;
		if (error == -EINVAL || error == -ENOSYS) /* this file system cannot tell */
			error = rename(target->beside, target->path) < 0 ? -errno : 0;
	}
	if (error == 0)
		target->beside[0] = '\0';
	return error;
}

static int write_over(const struct target *target)
{
	int fd = open(target->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int error = write_version(target, fd);
	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

static bool may_be_written_over(const struct target *target, int error)
{
	return target->exists &&
	       (error == -EACCES || error == -EPERM || error == -EROFS || error == -ENAMETOOLONG);
}

static int failed(const struct target *target, int error)
{
	if (error == -ESTALE) {
		message("%s: refused by the guard: another program changed it, and this agent has "
			"not "
			"seen "
			"that ([guard] stale_write)",
			target->name);
		return EXIT_CODE_CONFLICT;
	}
	if (error == -EEXIST) {
		message("%s: it was made again meanwhile; try again", target->name);
		return EXIT_CODE_CONFLICT;
	}
	message("%s: it could not be written: %s", target->name,
		error == -EBADMSG  ? "the version that is kept is damaged"
		: error == -ENOENT ? "that version is not kept any more"
				   : strerror(-error));
	return EXIT_CODE_PARTLY;
}

static int replace(const struct session *session, struct target *target)
{
	/* Other names of the file are to show the same: then it is written over. */
	bool linked = target->exists && target->stat.st_nlink > 1;
	int error = linked ? -EPERM : write_beside(target);

	if (error < 0 && !may_be_written_over(target, error))
		return failed(target, error);
	if (!keep(session, target))
		return EXIT_CODE_CONFLICT;
	if (!is_unchanged(target)) {
		message("%s: it changed meanwhile; try again", target->name);
		return EXIT_CODE_CONFLICT;
	}
	error = target->beside[0] ? install_file(target) : write_over(target);
	return error < 0 ? failed(target, error) : EXIT_CODE_OK;
}

/* ---- what is reported to the tracker ---- */

/* Is this a process of the session? */
static bool is_inside(const struct session *session)
{
	const char *name = getenv("SEEN_SESSION");

	return name && name[0] &&
	       strcmp(name, name[0] == '/' ? session->directory : session->name) == 0;
}

static void note_written(struct file_slot *file, const void *data)
{
	file->written = *(const struct version *)data;
	file->written_scope = 0;
	file->flags &= ~(uint32_t)FILE_REMOVED;
}

/* ---- the command ---- */

static void report(const struct target *target)
{
	char bytes[TEXT_NUMBER_BYTES], digits[VERSION_DIGITS + 1], before[VERSION_DIGITS + 1];
	char path[SEGMENT_PATH_BYTES * 4];

	if (path_escape(target->name, path, sizeof(path)) < 0)
		return;
	version_digits(&target->wanted, digits);
	version_digits(&target->version, before);
	(void)printf("restored %s: version %s, %s bytes", path, digits,
		     text_number(target->wanted.size_bytes, bytes));
	if (target->kept)
		(void)printf("; what was there is kept as %s", before);
	(void)printf("\n");
}

static int bring_back(const struct session *session, struct target *target)
{
	char digits[VERSION_DIGITS + 1];

	if (!inspect_target(target))
		return EXIT_CODE_CONFLICT;
	if (version_equal(&target->version, &target->wanted)) {
		version_digits(&target->wanted, digits);
		message("%s: it is version %s already", target->name, digits);
		return EXIT_CODE_OK;
	}
	if (target->exists && !force && !is_known(target)) {
		message("%s: another program changed it, and that version is neither kept nor "
			"known to "
			"the session; "
			"--force keeps it and replaces it",
			target->name);
		return EXIT_CODE_CONFLICT;
	}
	/* Nothing drops the version that is about to be brought back. */
	versions_renew(target->versions, target->row);
	int code = replace(session, target);
	drop_beside(target);
	if (code != EXIT_CODE_OK)
		return code;
	if (target->segment && is_inside(session))
		(void)file_change_known(target->segment, path_key(target->segment, target->path),
					note_written, &target->wanted);
	report(target);
	return code;
}

static int restore(const struct session *session, struct versions *versions, char **words)
{
	struct target target = { .segment = session->segment.header ? &session->segment : NULL,
				 .versions = versions,
				 .fd = -1 };
	char path[SEGMENT_PATH_BYTES];
	const struct versions_row *row;
	int code = versions_named(versions, words, path, &row);

	if (code != EXIT_CODE_OK)
		return code;
	target.path = path;
	target.name = versions_name(versions, target.path);
	target.row = row;
	target.wanted = row->version;
	target.mode = row->mode;
	code = bring_back(session, &target);
	if (target.fd >= 0)
		(void)close(target.fd);
	return code;
}

int cmd_restore(int argc, char **argv)
{
	return versions_command(
		&(struct session_command){
			.options = &OPTIONS,
			.name = &session_name,
			.words_min = 1,
			.words_max = 2,
			.words_wrong = "restore takes a version, and perhaps a path before it: "
				       "`seen restore [PATH] VERSION`",
		},
		restore, argc, argv);
}
