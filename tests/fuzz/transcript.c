/* A transcript of any format, as a replay reads it. */
#include "fuzz_harness.h"

#include <unistd.h>

#include "cli/replay/transcript.h"

static int count(const struct call *call, void *data)
{
	size_t *bytes = data;

	if (call->output)
		*bytes += strnlen(call->output, call->output_bytes);
	if (call->content) /* it stands within the output */
		fuzz_holds(call->content >= call->output &&
			   call->content + call->content_bytes <=
				   call->output + call->output_bytes);
	return 0;
}

/* SQLite opens no file that has no name. */
static int database(const uint8_t *data, size_t size, char *ret_path)
{
	(void)snprintf(ret_path, 64, "/tmp/seen-fuzz-XXXXXX");
	int fd = mkstemp(ret_path);
	fuzz_holds(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char MAGIC[] = "SQLite format 3";
	static struct config *config;
	struct transcript_result result;
	size_t bytes = 0;
	char path[64];

	if (!config)
		fuzz_holds(config_new(&config) == 0);
	bool is_database = size >= sizeof(MAGIC) && memcmp(data, MAGIC, sizeof(MAGIC)) == 0;
	int fd = is_database ? database(data, size, path) : fuzz_file(data, size, path);
	if (transcript_read(path, TRANSCRIPT_UNKNOWN, config, count, &bytes, &result))
		fuzz_holds(memchr(result.error, '\0', sizeof(result.error)));
	if (is_database)
		(void)unlink(path);
	(void)close(fd);
	return 0;
}
