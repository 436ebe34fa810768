/*
 * Names of parts and of contents kept as files in the directory of packs (pack.h).  Pure functions.
 */
#ifndef SEEN_TRACKER_PACK_NAME_H
#define SEEN_TRACKER_PACK_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/pack.h"

/* Name of the directory of packs below the session's. */
#define PACK_DIRECTORY "undo"

/* pack_part_name(): "00000000.part".  ret_name: PACK_PART_NAME_BYTES.  pack_files_name(): "00000000.files",
 * the directory of a part's contents.  ret_name: PACK_PART_NAME_BYTES.  pack_file_name(): of one content in it,
 * from the directory of packs.  ret_name: PACK_FILE_NAME_BYTES. */
void pack_part_name(uint32_t part, char *ret_name);
void pack_files_name(uint32_t part, char *ret_name);
void pack_file_name(uint64_t place, char *ret_name);

/* pack_is_part_name(), pack_is_files_name(): of which part?  pack_is_file_name(): is it the name of a
 * content in the directory of a part's? */
bool pack_is_part_name(const char *name, uint32_t *ret_part);
bool pack_is_files_name(const char *name, uint32_t *ret_part);
bool pack_is_file_name(const char *name);

static inline uint32_t pack_part_of(uint64_t place)
{
	return (uint32_t)(place / PACK_PART_BYTES);
}

#endif
