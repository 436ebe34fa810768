/* git as a reader: see reader_git.h. */
#include "shim/preload/follow/reader_git.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tracker/path/path.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

/* Variables of people, and of agents, that no command that reads heeds where its output is no
 * terminal, or that the command's identity has. */
bool reader_git_applies(char *const environment[])
{
	static const char NAMES[][24] = {
		"GIT_ASKPASS=",     "GIT_AUTHOR_",          "GIT_COMMITTER_",
		"GIT_EDITOR=",      "GIT_MERGE_AUTOEDIT=",  "GIT_OPTIONAL_LOCKS=",
		"GIT_PAGER=",       "GIT_SEQUENCE_EDITOR=", "GIT_SSH=",
		"GIT_SSH_COMMAND=", "GIT_TERMINAL_PROMPT=",
	};

	for (size_t i = 0; environment && environment[i]; i++) {
		bool known = strncmp(environment[i], "GIT_", 4) != 0;
		for (size_t k = 0; !known && k < sizeof(NAMES) / sizeof(NAMES[0]); k++)
			known = strncmp(environment[i], NAMES[k], strlen(NAMES[k])) == 0;
		if (!known)
			return false;
	}
	return true;
}

bool reader_git_is_lock(const char *path)
{
	return strcmp(path_base(path), "index.lock") == 0;
}

bool reader_git_is_index(const char *path)
{
	return strcmp(path_base(path), "index") == 0;
}

enum input_kind reader_git_asked_as(const char *path)
{
	struct stat stat;
	bool is_directory = sys_fstatat(AT_FDCWD, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISDIR(stat.st_mode);
	/* The lock of an index changes its directory's time.  git refuses what others own. */
	return is_directory ? INPUT_OWNER : INPUT_WORD;
}

/* ---- objects ---- */

static bool has_hex_only(const char *text, size_t count)
{
	return count && strspn(text, "0123456789abcdef") >= count;
}

/* Loose ones: objects/xx/38 or 62 digits; objects/pack/pack-40 or 64 digits and a suffix. */
bool reader_git_is_named_by_content(const char *path)
{
	static const char PACK[] = "pack/pack-";
	const char *objects = strstr(path, "/.git/objects/");
	const char *name = objects ? objects + strlen("/.git/objects/") : NULL;

	if (!name)
		return false;
	if (strncmp(name, PACK, strlen(PACK)) == 0) {
		size_t digits = strcspn(name + strlen(PACK), ".");
		return (digits == 40 || digits == 64) && has_hex_only(name + strlen(PACK), digits);
	}
	size_t rest = name[0] && name[1] && name[2] == '/' ? strlen(name + 3) : 0;
	return (rest == 38 || rest == 62) && has_hex_only(name, 2) && has_hex_only(name + 3, rest);
}

/* ---- configuration, and the index ---- */

static bool is_config(const char *path)
{
	static const char NAMES[][16] = { "config", ".gitconfig", "gitconfig", "config.worktree" };

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strcmp(path_base(path), NAMES[i]) == 0)
			return true;
	return false;
}

static bool is_letter(char byte)
{
	return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

/* A word in small letters, whatever those of the bytes are; not as a part of another one. */
static bool has_word(const char *bytes, size_t count, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= count; i++) {
		size_t k = 0;
		while (k < length && (bytes[i + k] | 0x20) == word[k])
			k++;
		bool begins = i == 0 || !is_letter(bytes[i - 1]);
		if (k == length && begins && (i + k == count || !is_letter(bytes[i + k])))
			return true;
	}
	return false;
}

static bool has_any_word(const char *bytes, size_t count)
{
	static const char WORDS[][10] = { "date",    "pretty",    "fsmonitor",
					  "include", "includeif", "textconv" };

	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		if (has_word(bytes, count, WORDS[i]))
			return true;
	return false;
}

/* Extensions of an index (gitformat-index(5)): by these git does not list, or ask for, each file. */
static bool has_extension(const char *bytes, size_t count)
{
	return memmem(bytes, count, "UNTR", 4) || memmem(bytes, count, "FSMN", 4);
}

bool reader_git_depends_on_more(const char *path, int fd)
{
	bool depends = false, index = reader_git_is_index(path);
	off_t offset = 0;
	ssize_t got;

	if (!index && !is_config(path))
		return false;
	char *chunk = chunk_acquire();
	do {
		got = chunk ? sys_pread(fd, chunk, CHUNK_BYTES, offset) : -1;
		/* A configuration that is longer is not read whole. */
		depends = got < 0 ||
			  (index ? has_extension(chunk, (size_t)got)
				 : got == CHUNK_BYTES || has_any_word(chunk, (size_t)got));
		offset += CHUNK_BYTES -
			  3; /* a word at the end of a chunk stands in the next one too */
	} while (!depends && index && got == CHUNK_BYTES);
	chunk_release(chunk);
	return depends;
}

bool reader_git_asked_so(const char *path, int flags, int error)
{
	struct stat stat;
	return (sys_fstatat(AT_FDCWD, path, &stat, flags & AT_SYMLINK_NOFOLLOW) < 0) ==
	       (error != 0);
}
