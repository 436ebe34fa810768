/* A database of an agent's, read as one that is live and as any other: each session's rows, twice, and up to one of them. */
#include "fuzz_harness.h"

#include <unistd.h>

#include "cli/agents/transcript_rows.h"

struct reading {
	size_t rows, bytes;
	char last[64]; /* the id of a message */
};

static int count(const struct transcript_row *row, void *data)
{
	struct reading *reading = data;
	size_t length;
	const char *text = transcript_row_data(row, &length);

	reading->rows++;
	if (text)
		reading->bytes += strnlen(text, length);
	if (!row->is_part && row->id)
		(void)snprintf(reading->last, sizeof(reading->last), "%s", row->id);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[TRANSCRIPT_ROWS_ERROR_BYTES], path[] = "/tmp/seen-fuzz-XXXXXX";
	int fd = mkstemp(path); /* SQLite opens no file that has no name */

	fuzz_holds(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	for (int which = ROWS_OF_LIVE; which <= ROWS_OF_ANY; which++) {
		struct transcript_rows *rows;
		struct transcript_session session;
		if (transcript_rows_open(path, (enum transcript_rows_of)which, 0, &rows, error)) {
			fuzz_holds(memchr(error, '\0', sizeof(error)));
			continue;
		}
		for (int sessions = 0;
		     sessions < 100 && transcript_rows_session(rows, &session) == 1; sessions++) {
			struct reading all = { 0 }, again = { 0 }, part = { 0 };
			int result = transcript_rows_each(rows, "", count, &all);
			fuzz_holds(transcript_rows_each(rows, "", count, &again) == result);
			fuzz_holds(again.rows == all.rows && again.bytes == all.bytes);
			(void)transcript_rows_each(rows, all.last, count, &part);
			fuzz_holds(result || part.rows <= all.rows);
		}
		transcript_rows_close(rows);
	}
	(void)unlink(path);
	(void)close(fd);
	return 0;
}
