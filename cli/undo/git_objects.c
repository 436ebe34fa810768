/* Which objects a git repository has: see git_objects.h. */
#include "cli/undo/git_objects.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FANOUT = 256 };

struct git_pack_names {
	char *bytes; /* of the index */
	size_t size;
	uint32_t fanout[FANOUT];
	size_t from;      /* the first entry */
	bool is_version1; /* each entry has 4 bytes before its name, and those are of 20 */
};

/* ---- object names ---- */

static int digit_of(char letter)
{
	return letter >= '0' && letter <= '9'   ? letter - '0'
	       : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
						: -1;
}

size_t git_oid_read(const char *text, size_t length, unsigned char *ret_oid)
{
	size_t digits = 0;

	while (digits < length && digits < (size_t)2 * GIT_OID_BYTES_MAX &&
	       digit_of(text[digits]) >= 0) {
		int value = digit_of(text[digits]);
		ret_oid[digits / 2] = (unsigned char)(digits % 2 ? ret_oid[digits / 2] | value
								 : value << 4);
		digits++;
	}
	return digits == (size_t)2 * GIT_OID_BYTES_MIN || digits == (size_t)2 * GIT_OID_BYTES_MAX
		       ? digits / 2
		       : 0;
}

bool git_oid_is_null(const unsigned char *oid, size_t oid_bytes)
{
	for (size_t i = 0; i < oid_bytes; i++)
		if (oid[i])
			return false;
	return true;
}

/* ---- packs ---- */

static int read_all(int fd, char **ret_bytes, size_t *ret_size)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_size <= 0)
		return -EBADMSG;
	size_t size = (size_t)stat.st_size, done = 0;
	char *bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	while (done < size) {
		ssize_t got = pread(fd, bytes + done, size - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	bytes[done] = '\0';
	*ret_bytes = bytes;
	*ret_size = done;
	return 0;
}

static uint32_t word_at(const char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return be32toh(word);
}

/* Is it an index?  Its names are checked against its size when they are read. */
static bool parse(struct git_pack_names *pack)
{
	static const char MAGIC[] = { '\377', 't', 'O', 'c' };
	enum { HEAD_BYTES = 8, FANOUT_BYTES = FANOUT * sizeof(uint32_t) };
	size_t at = 0;

	if (pack->size < HEAD_BYTES + FANOUT_BYTES)
		return false;
	pack->is_version1 = memcmp(pack->bytes, MAGIC, sizeof(MAGIC)) != 0;
	if (!pack->is_version1) {
		if (word_at(pack->bytes + sizeof(MAGIC)) != 2)
			return false;
		at = HEAD_BYTES;
	}
	for (size_t i = 0; i < FANOUT; i++) {
		pack->fanout[i] = word_at(pack->bytes + at + i * sizeof(uint32_t));
		if (i && pack->fanout[i] < pack->fanout[i - 1])
			return false;
	}
	pack->from = at + FANOUT_BYTES;
	return true;
}

static bool pack_has(const struct git_pack_names *pack, const unsigned char *oid, size_t oid_bytes)
{
	size_t before = pack->is_version1 ? sizeof(uint32_t) : 0, step = before + oid_bytes;
	size_t low = oid[0] ? pack->fanout[oid[0] - 1] : 0, high = pack->fanout[oid[0]];

	if ((pack->size - pack->from) / step < pack->fanout[FANOUT - 1])
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(pack->bytes + pack->from + middle * step + before, oid,
				   oid_bytes);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

int git_objects_add_index(struct git_objects *objects, int fd)
{
	struct git_pack_names pack = { .size = 0 };
	int error = read_all(fd, &pack.bytes, &pack.size);

	if (error < 0)
		return error == -ENOMEM ? error : 0;
	struct git_pack_names *more = parse(&pack)
					      ? reallocarray(objects->packs,
							     objects->pack_count + 1, sizeof(*more))
					      : NULL;
	if (!more) {
		free(pack.bytes);
		return 0; /* it has no object that is known */
	}
	objects->packs = more;
	objects->packs[objects->pack_count++] = pack;
	return 0;
}

/* ---- on disk ---- */

static bool has_suffix(const char *name, const char *end)
{
	size_t length = strlen(name), bytes = strlen(end);

	return length > bytes && strcmp(name + length - bytes, end) == 0;
}

static int add_pack_of(struct git_objects *objects, int directory, const char *name)
{
	char pack[NAME_MAX + sizeof(".pack")];
	struct stat stat;

	(void)snprintf(pack, sizeof(pack), "%.*s.pack", (int)(strlen(name) - strlen(".idx")), name);
	if (fstatat(directory, pack, &stat, 0) < 0)
		return 0;
	int fd = openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int error = fd < 0 ? 0 : git_objects_add_index(objects, fd);
	if (fd >= 0)
		(void)close(fd);
	return error;
}

static int read_packs(struct git_objects *objects, const char *directory)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/pack", directory) >= (int)sizeof(path))
		return 0;
	DIR *entries = opendir(path);
	struct dirent *entry;
	int error = 0;
	while (entries && error == 0 && (entry = readdir(entries))) {
		if (has_suffix(entry->d_name, ".promisor"))
			objects->has_promise = true;
		if (has_suffix(entry->d_name, ".idx"))
			error = add_pack_of(objects, dirfd(entries), entry->d_name);
	}
	if (entries)
		(void)closedir(entries);
	return error;
}

static int add_directory(struct git_objects *objects, const char *path)
{
	if (objects->directory_count == GIT_OBJECTS_DIRECTORIES)
		return 0;
	for (size_t i = 0; i < objects->directory_count; i++)
		if (strcmp(objects->directories[i], path) == 0)
			return 0;
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	objects->directories[objects->directory_count++] = copy;
	return 0;
}

/* Other directories that git reads objects from. */
static int read_alternates(struct git_objects *objects, const char *directory)
{
	char path[PATH_MAX], line[PATH_MAX];
	int error = 0;

	if (snprintf(path, sizeof(path), "%s/info/alternates", directory) >= (int)sizeof(path))
		return 0;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && error == 0 && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		int length = line[0] == '/'
				     ? snprintf(path, sizeof(path), "%s", line)
				     : snprintf(path, sizeof(path), "%s/%s", directory, line);
		if (line[0] && line[0] != '#' && length < (int)sizeof(path))
			error = add_directory(objects, path);
	}
	if (file)
		(void)fclose(file);
	else if (fd >= 0)
		(void)close(fd);
	return error;
}

static bool has_loose(const char *directory)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	bool found = false;

	while (entries && !found && (entry = readdir(entries)))
		found = strlen(entry->d_name) == 2 && digit_of(entry->d_name[0]) >= 0 &&
			digit_of(entry->d_name[1]) >= 0;
	if (entries)
		(void)closedir(entries);
	return found;
}

int git_objects_init(struct git_objects *objects, const char *directory)
{
	*objects = (struct git_objects){ .pack_count = 0 };
	int error = add_directory(objects, directory);
	for (size_t i = 0; i < objects->directory_count && error == 0; i++) {
		error = read_packs(objects, objects->directories[i]);
		if (error == 0)
			error = read_alternates(objects, objects->directories[i]);
	}
	objects->is_elsewhere = error == 0 && !objects->pack_count && !has_loose(directory);
	return error;
}

void git_objects_free(struct git_objects *objects)
{
	for (size_t i = 0; i < objects->directory_count; i++)
		free(objects->directories[i]);
	for (size_t i = 0; i < objects->pack_count; i++)
		free(objects->packs[i].bytes);
	free(objects->packs);
	free(objects->coming);
	*objects = (struct git_objects){ .pack_count = 0 };
}

/* ---- loose ones ---- */

int git_objects_add_loose(struct git_objects *objects, const char *name)
{
	char text[2 * GIT_OID_BYTES_MAX + 1];
	unsigned char oid[GIT_OID_BYTES_MAX] = { 0 };
	size_t count = objects->coming_count;

	if (strlen(name) < 4 || name[2] != '/' || strlen(name) - 1 >= sizeof(text))
		return 0;
	(void)snprintf(text, sizeof(text), "%.2s%s", name, name + 3);
	if (git_oid_read(text, strlen(text), oid) == 0)
		return 0;
	if ((count & (count - 1)) == 0) {
		void *grown = reallocarray(objects->coming, count ? 2 * count : 1,
					   GIT_OID_BYTES_MAX);
		if (!grown)
			return -ENOMEM;
		objects->coming = grown;
	}
	memcpy(objects->coming[objects->coming_count++], oid, GIT_OID_BYTES_MAX);
	objects->is_sorted = false;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, GIT_OID_BYTES_MAX);
}

static bool comes_back(struct git_objects *objects, const unsigned char *oid, size_t oid_bytes)
{
	unsigned char key[GIT_OID_BYTES_MAX] = { 0 };

	if (!objects->coming_count)
		return false;
	if (!objects->is_sorted)
		qsort(objects->coming, objects->coming_count, GIT_OID_BYTES_MAX, by_bytes);
	objects->is_sorted = true;
	memcpy(key, oid, oid_bytes);
	return bsearch(key, objects->coming, objects->coming_count, GIT_OID_BYTES_MAX, by_bytes);
}

static bool is_on_disk(const struct git_objects *objects, const unsigned char *oid,
		       size_t oid_bytes)
{
	char name[2 * GIT_OID_BYTES_MAX + 2], path[PATH_MAX];
	struct stat stat;
	size_t length = 0;

	for (size_t i = 0; i < oid_bytes; i++)
		length += (size_t)snprintf(name + length, sizeof(name) - length,
					   i ? "%02x" : "%02x/", oid[i]);
	for (size_t i = 0; i < objects->directory_count; i++)
		if (snprintf(path, sizeof(path), "%s/%s", objects->directories[i], name) <
			    (int)sizeof(path) &&
		    lstat(path, &stat) == 0 && S_ISREG(stat.st_mode))
			return true;
	return false;
}

bool git_objects_have(struct git_objects *objects, const unsigned char *oid, size_t oid_bytes)
{
	if (objects->has_promise || (objects->is_elsewhere && !objects->coming_count))
		return true;
	for (size_t i = 0; i < objects->pack_count; i++)
		if (pack_has(&objects->packs[i], oid, oid_bytes))
			return true;
	return comes_back(objects, oid, oid_bytes) || is_on_disk(objects, oid, oid_bytes);
}
