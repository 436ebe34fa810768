/*
 * A stream whose bytes stay in memory.
 *
 * That of open_memstream(3) is cut silently where memory ends: neither ferror() nor fclose() reports it.  With this one both do.
 */
#ifndef SEEN_CLI_MEMORY_STREAM_H
#define SEEN_CLI_MEMORY_STREAM_H

#include <stdio.h>

/* memory_stream_open(): as open_memstream(3), but that it cannot be written to behind or before its end.  *ret_text is NULL until something was flushed or the stream is closed; the
 * caller frees it behind fclose(), whatever that returns.  Where there was no memory for a part, no later part is added,
 * and fclose() fails with ENOMEM.  Returns NULL where there is no memory for the stream. */
FILE *memory_stream_open(char **ret_text, size_t *ret_size);

#endif
