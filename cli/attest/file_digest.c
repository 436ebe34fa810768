/* SHA-256 of files: see file_digest.h. */
#include "cli/attest/file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10 };

static void write_digits(struct sha256_ctx *context, char *ret_digest)
{
	unsigned char digest[SHA256_DIGEST_SIZE];

	sha256_digest(context, sizeof(digest), digest);
	base16_encode_update(ret_digest, sizeof(digest), digest);
	ret_digest[FILE_DIGEST_BYTES - 1] = '\0';
}

int file_digest(int fd, char *ret_digest)
{
	struct sha256_ctx context;
	unsigned char piece[PIECE_BYTES];
	ssize_t got;

	sha256_init(&context);
	for (;;) {
		got = read(fd, piece, sizeof(piece));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		sha256_update(&context, (size_t)got, piece);
	}
	if (got < 0)
		return -errno;
	write_digits(&context, ret_digest);
	return 0;
}

static int digest_link(int directory, const char *name, char *ret_digest)
{
	char target[PATH_MAX];
	struct sha256_ctx context;
	ssize_t length = readlinkat(directory, name, target, sizeof(target));

	if (length < 0 || length == sizeof(target))
		return length < 0 ? -errno : -ENAMETOOLONG;
	sha256_init(&context);
	sha256_update(&context, (size_t)length, (const unsigned char *)target);
	write_digits(&context, ret_digest);
	return 0;
}

static bool is_unchanged(const struct stat *before, const struct stat *after)
{
	return before->st_dev == after->st_dev && before->st_ino == after->st_ino &&
	       before->st_size == after->st_size &&
	       before->st_ctim.tv_sec == after->st_ctim.tv_sec &&
	       before->st_ctim.tv_nsec == after->st_ctim.tv_nsec;
}

/* Is a symbolic link on the way to what is not there? */
static bool has_link(const char *path)
{
	char above[PATH_MAX];
	struct stat stat;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		if (lstat(above, &stat) == 0 && S_ISLNK(stat.st_mode))
			return true;
	}
	return false;
}

int file_digest_at(struct places *places, const char *path, char *ret_digest, struct stat *ret_stat)
{
	struct stat after;
	const char *name;
	int directory;
	int error = place_of(places, path, &directory, &name);

	if (error < 0)
		return error != -ENOTDIR ? error : has_link(path) ? -ELOOP : -ENOENT;
	if (fstatat(directory, name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(ret_stat->st_mode))
		return digest_link(directory, name, ret_digest);
	if (!S_ISREG(ret_stat->st_mode))
		return -EMEDIUMTYPE;
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = file_digest(fd, ret_digest);
	if (error == 0 && fstat(fd, &after) < 0)
		error = -errno;
	(void)close(fd);
	return error == 0 && !is_unchanged(ret_stat, &after) ? -EAGAIN : error;
}
