/*
 * A new segment: for the program alone.
 */
#ifndef SEEN_TRACKER_SEGMENT_CREATE_H
#define SEEN_TRACKER_SEGMENT_CREATE_H

#include "tracker/segment/segment.h"

/* segment_create(): makes a segment file, whole or not at all.
 *
 * directory: an existing directory of this user.  name: the session's name, shorter than
 * SEGMENT_NAME_BYTES.  nonce_random: 8 random bytes.  boot_id: text, shorter than 40 bytes.
 * settings, text, text_bytes:
 * from config_pack().  journal, contents, undo: absolute paths of the session's journal, content
 * store and directory of packs, NULL: none.  The file is built under a temporary name, mode 0600, with its blocks
 * allocated (posix_fallocate: a full file system is an error here and never a SIGBUS later), then
 * linked as `directory/segment`.  Where the space does not suffice, tables and arena are halved
 * until they fit, at most eight times; so where this process may not make files that large.
 * Returns 0; -EEXIST when another process made it first (use that one); -ENOSPC; -EFBIG;
 * -ENAMETOOLONG;
 * other errors of open(2), link(2).  Nothing is left behind on failure.
 */
int segment_create(const char *directory, const char *name, const void *nonce_random,
		   const char *boot_id, const struct settings *settings, const char *text,
		   size_t text_bytes, const char *journal, const char *contents, const char *undo);

/* segment_create_private(): a segment in memory of this process alone, without a file.
 *
 * settings, text, text_bytes: as above.  ret_segment: segment_unmap() it; set only on success.
 * Returns 0 or -ENOMEM. */
int segment_create_private(const struct settings *settings, const char *text, size_t text_bytes,
			   struct segment *ret_segment);

/* segment_has_settings(), segment_write_settings(): compares and replaces the settings of a session
 * that no process lives in (a reader at that moment would see a mixture; every value it reads is
 * still checked).  text_bytes: at most the segment's capacity, which is SETTINGS_TEXT_BYTES_MAX.
 * For the program. */
bool segment_has_settings(const struct segment *segment, const struct settings *settings,
			  const char *text, size_t text_bytes);
void segment_write_settings(const struct segment *segment, const struct settings *settings,
			    const char *text, size_t text_bytes);

#endif
