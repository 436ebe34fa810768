/*
 * The notice: the short text given in place of content.
 */
#ifndef SEEN_TRACKER_NOTICE_H
#define SEEN_TRACKER_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

enum { NOTICE_BYTES_MAX = 8192 };

/* notice_render(): the notice for a file.
 *
 * path: as the command wrote it; control characters are escaped.  content: its lines, bytes and
 * version.
 * fd: of the file, read by pread for {excerpt}: its first [history] result_max_length characters,
 * escaped, or as many as fit.  -1: that is empty; for whatever an agent's own process is given:
 * agents write what they read to disk.
 * ret_text: capacity bytes.  The text ends with one newline and has no other.
 * Returns its length in bytes, NUL not counted; -ENAMETOOLONG when it does not fit, without an
 * excerpt; -EINVAL when the template lacks the nonce (a damaged segment).  Async-signal-safe.
 */
int notice_render(const struct segment *segment, const char *path, const struct content *content,
		  int fd, char *ret_text, size_t capacity);

/* notice_lines(): the notice for lines `first` to `last` of a file.  Otherwise as
 * notice_render(). */
int notice_lines(const struct segment *segment, const char *path, const struct content *content,
		 uint64_t first, uint64_t last, char *ret_text, size_t capacity);

/* notice_command(): a command as it is written for a shell; of a long one the beginning, and "...".
 *
 * words: its arguments, the program first, ended by NULL.  ret_text: capacity bytes, at least 8. */
void notice_command(char *const words[], char *ret_text, size_t capacity);

/* notice_request(): the notice for a reader's command that is remembered.
 *
 * command: as it was run before, from notice_command(); of a long one the beginning is shown.
 * is_same: it was asked for in those words; else in others of the same normal form.  output_bytes:
 * what it printed.  age_ns: since then.  Otherwise as notice_render(). */
int notice_request(const struct segment *segment, const char *command, bool is_same,
		   uint64_t output_bytes, uint64_t age_ns, char *ret_text, size_t capacity);

/* notice_file(): a notice as a file: sealed, in memory.
 *
 * text: bytes of it, at least one.  Returns a descriptor, opened read-only and close-on-exec, at
 * offset 0; or a negative errno: -EFBIG where this process may not make a file so large
 * (setrlimit(2), RLIMIT_FSIZE).  Async-signal-safe.
 */
int notice_file(const char *text, size_t bytes);

/* notice_memory(): an empty file in memory, open for writing, close-on-exec.  notice_seal(): seals
 * it, as it is now.
 *
 * memfd: closed in any case.  Returns a descriptor, or a negative errno; of notice_seal() as
 * notice_file() does.  Async-signal-safe. */
int notice_memory(void);
int notice_seal(int memfd);

#endif
