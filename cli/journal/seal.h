/*
 * The seal of a journal: a chain of digests over its records, in a file beside it, so that `seen
 * verify` can say whether the records are still those that were there at the end of the run, and if
 * not, where.
 *
 * 	seen-seal 1 NONCE DIGEST      of which journal, and SHA-256 of the constant part of its header
 * 	FROM TO DIGEST                a block: units FROM to TO-1 of the journal; FROM is the TO above
 *
 * DIGEST of a block is SHA-256 of: the digest of the line above (32 bytes), FROM and TO (64 bits
 * each, little-endian), and the block's records in their order: of an abandoned one its first word,
 * of any other all bytes.  The last one so stands for everything before it; only who keeps it
 * elsewhere can tell a journal and a seal that were both replaced.
 *
 * What is sealed cannot change by an honest writer: records are never written again once they are
 * published, and one that is not published when the seal is made is marked abandoned, so that it
 * never can be.  Its first word tells how many bytes a record contributes, hence two different
 * journals never give the same bytes to a digest.
 *
 * The file is only ever appended to, by whole lines, each of which is true by itself: a kill or a
 * full disk in the middle leaves a last line without its newline, which the next seal cuts off.
 */
#ifndef SEEN_CLI_SEAL_H
#define SEEN_CLI_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/journal/journal.h"

enum {
	SEAL_DIGEST_BYTES = 32,
	SEAL_TEXT_BYTES = 65, /* a digest in hexadecimal, NUL counted */
	SEAL_BLOCK_UNITS =
		1024, /* a block ends with the record that fills it; a run's last is shorter */
};

/* seal_path(): path of the seal that belongs to a journal.  Returns 0, or -ENAMETOOLONG. */
int seal_path(const char *journal_path, char *ret_path, size_t capacity);

/* ---- sealing ---- */

/* What seal_append() did. */
struct seal_result {
	uint64_t records;             /* sealed now, texts counted */
	uint64_t abandoned;           /* those that no writer finished */
	uint64_t damaged;             /* those whose check does not hold: sealed as they are */
	char digest[SEAL_TEXT_BYTES]; /* the chain's last one, also when nothing was new */
};

enum seal_sync {
	SEAL_SYNC_NOW,   /* on the disk when seal_append() returns */
	SEAL_SYNC_LATER, /* the caller has seal_sync() done, soon */
};

/* seal_append(): seals what was added to a journal since the last seal.
 *
 * journal_path: the seal lies beside it, mode 0600, and is made where there is none.  journal:
 * mapped for writing; records whose writer is not done within 50 ms in all are abandoned. Two
 * callers at once wait for each other, for some seconds at most. Returns 0; -EBADMSG when the
 * seal there is of another journal, damaged, or covers more than the journal has (nothing is
 * added to it; seal_check() says more); -EPERM when it belongs to another user or others may
 * write to it; -ELOOP when it is a symbolic link; -EAGAIN when another caller does not come to
 * an end; -ENOMEM, also when the view does not cover the journal; errors of open(2), write(2),
 * msync(2), fsync(2).  After an error the seal is as it was; by SEAL_SYNC_LATER errors of the disk
 * itself come from seal_sync(), and the seal stays. */
int seal_append(const char *journal_path, const struct journal *journal, enum seal_sync when,
		struct seal_result *ret_result);

/* seal_sync(): puts a journal and its seal on the disk, the journal first.  A machine that loses power
 * between SEAL_SYNC_LATER and this may have a seal of records that are not there; so may one whose disk
 * refuses them (EIO, ENOSPC, EDQUOT): an error leaves the seal as it is, and at the end of a run it is
 * reported nowhere (at_rest.h).
 *
 * It holds no lock: seal_append() of another run would wait as long as the disk takes, and give up.  What
 * that adds between the two files is its own to put there, before or soon.  Returns 0; errors of
 * open(2) and fsync(2). */
int seal_sync(const char *journal_path);

/* ---- the file ---- */

struct seal_block {
	uint64_t from, to; /* units: from the first, to before the second */
	unsigned char digest[SEAL_DIGEST_BYTES];
};

/* A seal as it was read; seal_destroy() it. */
struct seal {
	char nonce[JOURNAL_NONCE_BYTES]; /* of the journal that it seals */
	unsigned char head_digest[SEAL_DIGEST_BYTES];
	struct seal_block *blocks;
	size_t block_count;
	/* number, from 1, of the first line that cannot be one; those above are in `blocks`.
	 * 0: none */
	uint64_t bad_line;
	bool torn;            /* the last line has no end: it does not count */
	uint64_t whole_bytes; /* of the lines that count */
};

/* seal_read(): reads a seal.
 *
 * Returns 0; -ENOENT when there is none, or none with a whole first line; -EBADMSG when it is no
 * seal; -EPROTO when it is one of another version; -ELOOP for a symbolic link; -EFBIG when it is
 * larger than any seal; -ENOMEM; errors of open(2), read(2).  Whose it is, is not inspected: see
 * journal_map_to_read(). */
int seal_read(const char *path, struct seal *ret_seal);

/* seal_destroy(): accepts a seal that was never read, if it is zero. */
void seal_destroy(struct seal *seal);

/* seal_last(): the chain's last digest.  Returns ret_text, SEAL_TEXT_BYTES long. */
const char *seal_last(const struct seal *seal, char *ret_text);

/* seal_end_unit(): unit behind the last block. */
uint64_t seal_end_unit(const struct seal *seal);

#endif
