/*
 * Which objects a git repository has: those on disk, and those that an undo brings back.
 *
 * Read here, not by the git program: that need not be installed, refuses a repository of another
 * owner, and may run what the repository's configuration names (an agent can write it) to get an
 * object from elsewhere.
 */
#ifndef SEEN_CLI_GIT_OBJECTS_H
#define SEEN_CLI_GIT_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GIT_OID_BYTES_MIN = 20, GIT_OID_BYTES_MAX = 32, GIT_OBJECTS_DIRECTORIES = 8 };

struct git_pack_names; /* of the objects in one pack */

struct git_objects {
	char *directories[GIT_OBJECTS_DIRECTORIES]; /* its own, then the alternates' */
	size_t directory_count;
	struct git_pack_names *packs;
	size_t pack_count;
	unsigned char (
		*coming)[GIT_OID_BYTES_MAX]; /* loose ones that come back, in order once sorted */
	size_t coming_count;
	bool is_sorted;
	bool has_promise;  /* git gets what is missing from a remote repository (partial clone) */
	bool is_elsewhere; /* it has no object at all: they are kept in another place */
};

/* git_objects_init(): reads what is on disk.  directory: the repository's `objects`, absolute.
 * git_objects_free() it in any case.  Returns 0 or -ENOMEM. */
int git_objects_init(struct git_objects *objects, const char *directory);
void git_objects_free(struct git_objects *objects);

/* git_objects_add_loose(): a loose object comes back.  name: of its file below `objects`; one that is none is
 * passed over.
 * git_objects_add_index(): a pack comes back, of which this is the index; fd: open for reading.
 * Return 0 or -ENOMEM. */
int git_objects_add_loose(struct git_objects *objects, const char *name);
int git_objects_add_index(struct git_objects *objects, int fd);

/* git_objects_have(): is there an object?  oid: oid_bytes.  What comes back counts. */
bool git_objects_have(struct git_objects *objects, const unsigned char *oid, size_t oid_bytes);

/* git_oid_read(): the object that a text begins with: its bytes, 20 or 32; 0: it is none.
 * ret_oid: GIT_OID_BYTES_MAX.  git_oid_is_null(): does it stand for no object? */
size_t git_oid_read(const char *text, size_t length, unsigned char *ret_oid);
bool git_oid_is_null(const unsigned char *oid, size_t oid_bytes);

#endif
