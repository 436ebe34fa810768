/* What a confined run checks: see confined_check.h. */
#include "cli/run/confined_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory_stream.h"
#include "cli/base/message.h"
#include "cli/confine/bwrap.h"
#include "cli/run/confined.h"

/* ---- the list: a head, then "ACCESS DEVICE INODE PATH" of each, ended by NUL ---- */

static bool is_listed(const struct confine_place *place)
{
	return (place->access == CONFINE_UNREADABLE || place->access == CONFINE_CLOSED) &&
	       !bwrap_has_covered(place);
}

/* Of what is excepted in a protected directory, the answer is another one. */
static bool is_excepted(const struct confinement *confinement, const char *path)
{
	for (size_t i = 0; i < confinement->count; i++)
		if (confinement->places[i].access == CONFINE_EXCEPTED &&
		    strcmp(confinement->places[i].path, path) == 0)
			return true;
	return false;
}

static size_t write_entry(FILE *file, const struct confine_place *place, const char *path)
{
	(void)fprintf(file, "%d %llu %llu %s%c", (int)place->access,
		      (unsigned long long)place->device, (unsigned long long)place->inode, path,
		      '\0');
	return 1;
}

/* Names in a directory can be listed where Landlock keeps it: it is checked by its files. */
static size_t write_files(FILE *file, const struct confinement *confinement,
			  const struct confine_place *place)
{
	char path[PATH_MAX];
	DIR *stream = opendir(place->path);
	struct dirent *entry;
	size_t count = 0;

	while (stream && (entry = readdir(stream)))
		if (entry->d_type == DT_REG &&
		    snprintf(path, sizeof(path), "%s/%s", place->path, entry->d_name) <
			    (int)sizeof(path) &&
		    !is_excepted(confinement, path))
			count += write_entry(file, place, path);
	if (stream)
		(void)closedir(stream);
	return count;
}

static size_t write_entries(FILE *file, const struct confined_list *list)
{
	const struct confinement *confinement = list->confinement;
	size_t count = 0;

	for (size_t i = 0; i < confinement->count; i++) {
		const struct confine_place *place = &confinement->places[i];
		if (!is_listed(place))
			continue;
		count += list->by_landlock && place->is_directory &&
					 place->access == CONFINE_UNREADABLE
				 ? write_files(file, confinement, place)
				 : write_entry(file, place, place->path);
	}
	return count;
}

int confined_write_list(const struct confined_list *list)
{
	const struct confinement *confinement = list->confinement;
	char *entries = NULL;
	size_t bytes = 0;
	int fd = memfd_create("seen-confined", MFD_CLOEXEC);
	FILE *memory = fd < 0 ? NULL : memory_stream_open(&entries, &bytes),
	     *file = memory ? fdopen(dup(fd), "w") : NULL;
	size_t count = file ? write_entries(memory, list) : 0;
	bool is_whole = memory && fclose(memory) == 0 && file;

	if (file) {
		(void)fprintf(file, "%d %d %d %zu %zu%c", (int)list->set,
			      confinement->shares_network, list->by_landlock,
			      confinement_count(confinement, CONFINE_UNREADABLE), count, '\0');
		is_whole = is_whole && fwrite(entries, 1, bytes, file) == bytes &&
			   fflush(file) == 0 && lseek(fd, 0, SEEK_SET) == 0;
		(void)fclose(file);
	}
	free(entries);
	if (fd >= 0 && !is_whole)
		(void)close(fd);
	return is_whole ? fd : -EIO;
}

/* ---- by Landlock ---- */

/* Does the kernel refuse to open it? */
static bool is_refused(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES || errno == ENOENT || errno == ENXIO || errno == ELOOP;
	(void)close(fd);
	return false;
}

static bool is_closed(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno == EACCES;
	(void)close(fd);
	return false;
}

/* ---- the check ---- */

/* Is an entry of the list out of reach? */
static bool is_out_of_reach(const char *entry, bool by_landlock, const char **ret_path)
{
	unsigned long long device, inode;
	int bytes = 0, access;
	struct stat stat;

	if (sscanf(entry, "%d %llu %llu %n", &access, &device, &inode, &bytes) != 3 || bytes == 0)
		return false;
	*ret_path = entry + bytes;
	if (by_landlock)
		return access == CONFINE_CLOSED ? is_closed() : is_refused(*ret_path);
	return lstat(*ret_path, &stat) < 0 || stat.st_dev != device || stat.st_ino != inode;
}

bool confined_check_list(int list, char *ret_text)
{
	char *entry = NULL;
	size_t capacity = 0, count = 0, left = 0;
	int set = 0, shares_network = 0, by_landlock = 0;
	FILE *file = fdopen(list, "r");
	bool holds = file && getdelim(&entry, &capacity, '\0', file) > 0 &&
		     sscanf(entry, "%d %d %d %zu %zu", &set, &shares_network, &by_landlock, &count,
			    &left) == 5 &&
		     set > CONFINE_SET_OFF && set <= CONFINE_SET_ISOLATED;

	for (; holds && left > 0 && getdelim(&entry, &capacity, '\0', file) > 0; left--) {
		const char *path = "a protected file";
		holds = is_out_of_reach(entry, by_landlock, &path);
		if (!holds)
			message("--confine: %s is in reach, where it ought not to be; the command "
				"is not started",
				path);
	}
	if (file)
		(void)fclose(file);
	free(entry);
	if (holds)
		(void)snprintf(
			ret_text, CONFINED_TEXT_BYTES,
			"confined%s (%s): %zu protected files and directories out of reach%s",
			by_landlock ? " by Landlock" : "",
			option_at(OPTION_confine_set)->choices[set], count,
			shares_network ? "" : ", no network");
	return holds && left == 0;
}
