/* An item of a plan that is being done: see applying.h. */
#include "cli/undo/applying.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool applying_ends(int answer)
{
	return answer == -ENOSPC || answer == -EDQUOT || answer == -EROFS || answer == -EIO ||
	       answer == -EMFILE || answer == -ENFILE || answer == -ENOMEM || answer == -EFBIG;
}

/* What was made writable for a while counts as what it was. */
static void forget_opened(const struct applying *applying, struct pack_state *state)
{
	for (size_t i = 0; S_ISDIR(state->mode) && i < applying->opened_count; i++)
		if (applying->opened[i].ino == state->ino && applying->opened[i].dev == state->dev)
			state->mode = applying->opened[i].mode;
}

int doing_start(struct applying *applying, size_t index, struct doing *ret_doing)
{
	struct schedule_item *item = &applying->plan->items[index];
	struct doing *doing = ret_doing;

	*doing = (struct doing){
		.applying = applying,
		.item = item,
		.content = applying->plan->contents[index],
		.path = schedule_text(applying->plan, item->path),
		.other = schedule_text(applying->plan, item->other),
	};
	(void)snprintf(doing->temporary, sizeof(doing->temporary), ".seen-undo.%u.%zu",
		       (unsigned)applying->plan->head.number, index);
	int error = place_of(&applying->places, doing->path, &doing->directory, &doing->name);
	if (error < 0)
		return error;
	error = place_inspect(doing->directory, doing->name, &doing->now);
	doing->exists = error == 0;
	if (error == 0)
		forget_opened(applying, &doing->now);
	return error == -ENOENT ? 0 : error;
}

/* A program may have set the modification time back.  Hard links that are made or removed set ctime, too. */
static bool has_ctime(const struct pack_state *now, const struct pack_state *found)
{
	return S_ISDIR(now->mode) || now->nlink != 1 || found->nlink != 1 || !found->ctime_ns ||
	       now->ctime_ns == found->ctime_ns;
}

bool doing_is_found(const struct doing *doing)
{
	return doing->exists && place_is_same(&doing->now, &doing->item->found) &&
	       has_ctime(&doing->now, &doing->item->found);
}

int doing_content_open(const struct doing *doing)
{
	char name[OPERATION_NAME_BYTES];
	struct stat stat;

	if (!(doing->item->flags & SCHEDULE_MERGED))
		return doing->content ? tree_record_open(doing->applying->records, doing->content)
				      : -ENODATA;
	schedule_merged_name((size_t)doing->item->content_place - 1, name);
	int fd = openat(doing->applying->log.directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) == 0 && (uint64_t)stat.st_size == doing->item->wanted.size_bytes)
		return fd;
	(void)close(fd);
	return -EBADMSG;
}

int doing_open(const struct doing *doing)
{
	struct pack_state state;
	int fd = S_ISREG(doing->now.mode)
			 ? openat(doing->directory, doing->name,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
			 : -1;

	if (fd < 0)
		return -1;
	if (place_inspect(fd, "", &state) == 0 && place_is_same(&state, &doing->now))
		return fd;
	(void)close(fd);
	return -1;
}

int doing_log(struct doing *doing, struct operation_note *notes, size_t count, int fd, bool removes)
{
	struct operation_log *log = &doing->applying->log;
	char target[PACK_PATH_BYTES_MAX + 1];

	notes->before = doing->now;
	if (S_ISLNK(doing->now.mode)) {
		ssize_t length = readlinkat(doing->directory, doing->name, target, sizeof(target));
		if (length < 0)
			return -errno;
		notes->held = PACK_INLINE;
		notes->content = target;
		notes->version = version_of_bytes(target, (uint64_t)length);
	} else {
		int error = operation_log_keep(log, notes, fd, removes ? doing->directory : -1,
					       doing->name);
		if (error < 0)
			return error;
	}
	return operation_log_write(log, notes, count);
}
