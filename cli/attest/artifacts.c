/* What a session read and changed: see artifacts.h. */
#include "cli/attest/artifacts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/journal/event_filter.h"
#include "tracker/content/fate.h"

/* The kernel's clock of files moves in steps of 10 ms at most: a change behind an event may have an
 * earlier time than the event by that. */
static const int64_t CLOCK_STEP_NS = 10000000;

/* A path with what is on record of it. */
struct candidate {
	const char *path;                 /* absolute; borrowed */
	const struct report_file *file;   /* NULL: the journal does not name it */
	const struct tree_change *change; /* NULL: no undo record is about it */
	bool is_program;                  /* it was started */
};

struct gathering {
	const struct report *report;
	const struct tree_records *records;
	struct places places;
	struct artifacts *artifacts;
};

static int compare_candidates(const void *a, const void *b)
{
	return strcmp(((const struct candidate *)a)->path, ((const struct candidate *)b)->path);
}

static bool is_wanted(const struct report *report, const char *path)
{
	const char *below = report->workspace ? event_path_below(report->workspace, path, false)
					      : NULL;

	if (!below || !*below)
		return false;
	for (const char *part = below; *part; part += strcspn(part, "/")) {
		part += strspn(part, "/");
		if (strncmp(part, ".git", 4) == 0 && (part[4] == '/' || !part[4]))
			return false;
	}
	return true;
}

/* All paths, each once.  ret_candidates: free() it. */
static int find_all(const struct report *report, const struct tree_changes *changes,
		    struct candidate **ret_candidates, size_t *ret_count)
{
	size_t count = 0, merged = 0;
	struct candidate *all = calloc(
		report->file_count + changes->count + report->program_count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < report->file_count; i++)
		if (report->files[i].fold != REPORT_STATE &&
		    is_wanted(report, report->files[i].path))
			all[count++] = (struct candidate){ .path = report->files[i].path,
							   .file = &report->files[i] };
	for (size_t i = 0; i < changes->count; i++)
		if (is_wanted(report, changes->changes[i].path))
			all[count++] = (struct candidate){ .path = changes->changes[i].path,
							   .change = &changes->changes[i] };
	for (size_t i = 0; i < report->program_count; i++)
		if (is_wanted(report, report->programs[i].path))
			all[count++] = (struct candidate){ .path = report->programs[i].path,
							   .is_program = true };
	qsort(all, count, sizeof(*all), compare_candidates);
	for (size_t i = 0; i < count; i++) {
		if (merged && strcmp(all[merged - 1].path, all[i].path) == 0) {
			struct candidate *last = &all[merged - 1];
			last->file = last->file ? last->file : all[i].file;
			last->change = last->change ? last->change : all[i].change;
			last->is_program = last->is_program || all[i].is_program;
		} else {
			all[merged++] = all[i];
		}
	}
	*ret_candidates = all;
	*ret_count = merged;
	return 0;
}

/* Adds one without a digest.  NULL: no memory. */
static struct artifact *add(const struct gathering *gathering, struct artifact_list *list,
			    const char *path)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 64;
		struct artifact *more = realloc(list->artifacts, capacity * sizeof(*more));
		if (!more)
			return NULL;
		list->artifacts = more;
		list->capacity = capacity;
	}
	size_t root = strlen(gathering->report->workspace);
	char *name = strdup(path + root + (gathering->report->workspace[root - 1] != '/'));
	if (!name)
		return NULL;
	struct artifact *artifact = &list->artifacts[list->count++];
	*artifact = (struct artifact){ .name = name };
	return artifact;
}

static int64_t time_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static const char *explain(int error)
{
	switch (error) {
	case -ENOENT:
		return "it is gone";
	case -EMEDIUMTYPE:
		return "it is no regular file";
	case -EAGAIN:
		return "it changes";
	case -ELOOP:
		return "a symbolic link leads to it";
	default:
		return "it cannot be read";
	}
}

/* ---- materials ---- */

/* When it was first read, or before that: when programs were started is not looked up. */
static int64_t first_read_ns(const struct gathering *gathering, const struct candidate *candidate)
{
	bool is_opened = candidate->file && !candidate->is_program;

	return (int64_t)(is_opened ? candidate->file->first_ns : gathering->report->start_ns);
}

/* Was it started, or opened for reading, before the session first changed it? */
static bool was_read(const struct gathering *gathering, const struct candidate *candidate)
{
	const struct tree_change *change = candidate->change;

	if (!candidate->is_program && !(candidate->file && candidate->file->work.opens_read))
		return false;
	if (!change)
		return !(candidate->file && candidate->file->fate & FATE_MADE);
	return first_read_ns(gathering, candidate) < (int64_t)change->first_time_ns &&
	       !(change->before.known && !change->before.exists);
}

/* Did the session change its bytes? */
static bool is_changed(const struct candidate *candidate)
{
	if (candidate->change)
		return !candidate->change->same_content && !candidate->change->metadata;
	return candidate->file && fate_is_change(fate_of(candidate->file->fate));
}

/* Did nothing change it behind the moment when it was first read, until a state with that ctime? */
static bool is_as_read(const struct gathering *gathering, const struct candidate *candidate,
		       int64_t ctime_ns)
{
	return !(candidate->file && candidate->file->changed) &&
	       ctime_ns < first_read_ns(gathering, candidate) - CLOCK_STEP_NS;
}

/* Of what was there before the session's own change. */
static void digest_before(const struct gathering *gathering, const struct candidate *candidate,
			  struct artifact *artifact)
{
	const struct tree_change *change = candidate->change;

	if (candidate->is_program) {
		artifact->not_known = "it was started, before or after the session changed it";
		return;
	}
	if (!change || !change->before.known) {
		artifact->not_known = "the session changed it, and what was there was not kept";
		return;
	}
	int fd = tree_entry_open(gathering->records, &change->before);
	int error = fd < 0 ? fd : file_digest(fd, artifact->digest);
	if (fd >= 0)
		(void)close(fd);
	if (error == -ENODATA)
		artifact->not_known = tree_lost_text(change->before.lost);
	else if (error < 0)
		artifact->not_known = "what was kept of it cannot be read";
	else if (S_ISLNK(change->before.mode))
		artifact->not_known = "it was read through a symbolic link";
	else if (!is_as_read(gathering, candidate, change->before.ctime_ns))
		artifact->not_known =
			"it may have changed between its first reading and the session's change";
}

/* Of what is on disk, where that is what was read. */
static void digest_unchanged(struct gathering *gathering, const struct candidate *candidate,
			     struct artifact *artifact)
{
	const struct tree_change *change = candidate->change;
	struct stat stat;
	int error = file_digest_at(&gathering->places, candidate->path, artifact->digest, &stat);

	if (error < 0)
		artifact->not_known = explain(error);
	else if (S_ISLNK(stat.st_mode))
		artifact->not_known = "it was read through a symbolic link";
	else if (change ? !change->is_left_by_ctime ||
				  !is_as_read(gathering, candidate, change->before.ctime_ns)
			: !is_as_read(gathering, candidate, time_ns(&stat.st_ctim)))
		artifact->not_known = "it may have changed since it was read";
}

static bool is_directory(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode);
}

static int add_material(struct gathering *gathering, const struct candidate *candidate)
{
	const struct tree_change *change = candidate->change;
	bool is_other = change && change->moved_from && candidate->file &&
			candidate->file->work.opens_read;

	/* A directory is opened, too. */
	if ((!was_read(gathering, candidate) && !is_other) ||
	    (!is_changed(candidate) && is_directory(candidate->path)))
		return 0;
	struct artifact *artifact = add(gathering, &gathering->artifacts->materials,
					is_other ? change->moved_from : candidate->path);
	if (!artifact)
		return -ENOMEM;
	if (is_other)
		artifact->not_known = "it was read by a name that it got later";
	else if (is_changed(candidate))
		digest_before(gathering, candidate, artifact);
	else
		digest_unchanged(gathering, candidate, artifact);
	return 0;
}

/* ---- products ---- */

static bool is_removed(const struct candidate *candidate)
{
	if (candidate->change)
		return candidate->change->after.known &&
		       (!candidate->change->after.exists || S_ISDIR(candidate->change->after.mode));
	return fate_of(candidate->file->fate) == FATE_IS_REMOVED;
}

/* Is there a file, or was there one?  Directories have no digest. */
static bool is_of_file(const struct candidate *candidate)
{
	const struct tree_change *change = candidate->change;

	if (!change)
		return !is_directory(candidate->path);
	if (change->after.exists && !S_ISDIR(change->after.mode))
		return true;
	return change->before.exists && !S_ISDIR(change->before.mode);
}

/* Is what is on disk what the session left there?  digest, ctime_ns: of what is on disk. */
static bool is_as_left(const struct gathering *gathering, const struct tree_change *change,
		       const char *digest, int64_t ctime_ns)
{
	char left[FILE_DIGEST_BYTES];

	if (change->is_left_by_ctime)
		return true;
	if (!change->left_content) /* a rename or a link of the session set ctime last */
		return ctime_ns <= (int64_t)change->last_time_ns + CLOCK_STEP_NS;
	/* Size and times alone can be set. */
	int fd = tree_record_open(gathering->records, change->left_content);
	bool is_same = fd >= 0 && file_digest(fd, left) == 0 && strcmp(left, digest) == 0;
	if (fd >= 0)
		(void)close(fd);
	return is_same;
}

static void digest_product(struct gathering *gathering, const struct candidate *candidate,
			   struct artifact *artifact)
{
	const struct tree_change *change = candidate->change;
	struct stat stat;
	int error = file_digest_at(&gathering->places, candidate->path, artifact->digest, &stat);

	artifact->is_link = error == 0 && S_ISLNK(stat.st_mode);
	if (change && change->left == TREE_CHANGED_SINCE)
		artifact->not_known = "an external program changed it since";
	else if (change && change->left != TREE_AS_LEFT)
		artifact->not_known = "how the session left it is not known";
	else if (error < 0)
		artifact->not_known = explain(error);
	else if (change && !artifact->is_link &&
		 !is_as_left(gathering, change, artifact->digest, time_ns(&stat.st_ctim)))
		artifact->not_known = "it may have changed since the session left it";
	else if (!change && artifact->is_link)
		artifact->not_known = "it may have been written through a symbolic link";
	else if (!change && time_ns(&stat.st_ctim) > (int64_t)candidate->file->by_ns)
		artifact->not_known = "it may have changed since the session wrote it";
}

static int add_product(struct gathering *gathering, const struct candidate *candidate)
{
	const struct tree_change *change = candidate->change;
	bool is_product = candidate->change || fate_is_change(fate_of(candidate->file->fate));

	if (!is_product || !is_changed(candidate) || !is_of_file(candidate))
		return 0;
	if (!is_removed(candidate)) {
		struct artifact *artifact = add(gathering, &gathering->artifacts->products,
						candidate->path);
		if (artifact)
			digest_product(gathering, candidate, artifact);
		return artifact ? 0 : -ENOMEM;
	}
	if (change && change->before.known && !change->before.exists)
		return 0; /* it came and went */
	return add(gathering, &gathering->artifacts->removed, candidate->path) ? 0 : -ENOMEM;
}

/* ---- all ---- */

int artifacts_gather(const struct report *report, const struct tree_records *records,
		     const struct tree_changes *changes, struct artifacts *ret_artifacts)
{
	struct gathering gathering = { .report = report,
				       .records = records,
				       .artifacts = ret_artifacts };
	struct candidate *all = NULL;
	size_t count = 0;

	*ret_artifacts = (struct artifacts){ .materials = { .count = 0 } };
	int error = places_open(&gathering.places);
	if (error < 0)
		return error;
	error = find_all(report, changes, &all, &count);
	for (size_t i = 0; i < count && error == 0; i++) {
		error = add_material(&gathering, &all[i]);
		if (error == 0)
			error = add_product(&gathering, &all[i]);
	}
	free(all);
	places_close(&gathering.places);
	return error;
}

static void free_list(struct artifact_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->artifacts[i].name);
	free(list->artifacts);
	*list = (struct artifact_list){ .count = 0 };
}

void artifacts_free(struct artifacts *artifacts)
{
	free_list(&artifacts->materials);
	free_list(&artifacts->products);
	free_list(&artifacts->removed);
}

bool artifact_path(const char *directory, const char *name, char *ret_path, size_t capacity)
{
	for (const char *part = name;; part++) {
		size_t length = strcspn(part, "/");
		if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0))
			return false;
		part += length;
		if (!*part)
			break;
	}
	int length = snprintf(ret_path, capacity, "%s/%s", strcmp(directory, "/") ? directory : "",
			      name);
	return length > 0 && (size_t)length < capacity;
}
