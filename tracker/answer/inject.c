/* Instruction files before a viewer's output: see inject.h. */
#include "tracker/answer/inject.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracker/answer/limits.h"
#include "tracker/answer/notice.h"
#include "tracker/process/capture.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

/* INJECT_END, and what instruction_header() writes. */
enum { FOOTER_LINES = 1, HEADER_LINES = 1 };

/* What one call of inject_file() makes. */
struct making {
	const struct segment *segment;
	const struct request *request;
	const struct inject_rest *rest;
	struct moment moment;
	struct output_limits limits;
	uint64_t lines;      /* of what was put in */
	uint64_t rest_lines; /* of what comes behind it */
	bool is_rest_known;
	char *chunk;
	int fd;         /* of the sealed file; -1: nothing was put in yet */
	uint64_t bytes; /* in it */
	char path[SEGMENT_PATH_BYTES];
};

static bool may_inject(const struct segment *segment, const struct request *request)
{
	return segment->settings->context_inject == CONTEXT_INJECT_VIEWERS &&
	       segment->settings->session_mode == SESSION_MODE_SUBSTITUTE && request->is_viewer &&
	       request->at_sink && request->number && request->command_id;
}

/* Without a write: what a command's processes write is counted by the kernel, and tells what its
 * agent was sent (capture.h). */
static int add(struct making *making, const void *bytes, size_t size_bytes)
{
	uint64_t end = making->bytes + size_bytes;

	/* A process may not make files larger than its limit, in memory neither; beyond, a signal
	 * ends it. */
	if (!sys_may_be_this_large(end))
		return -EFBIG;
	/* The pages are there before they are stored to. */
	int error = sys_fallocate(making->fd, 0, (off_t)making->bytes, (off_t)size_bytes);
	if (error < 0)
		return error;
	long address = sys_mmap(end, PROT_READ | PROT_WRITE, MAP_SHARED, making->fd);
	if (address < 0)
		return (int)address;
	memcpy((char *)address + making->bytes, bytes, size_bytes);
	(void)sys_munmap((void *)address, end);
	making->bytes = end;
	return 0;
}

/* Copies a file whole.  version: that it must have; NULL: only the size matters.  Returns 0 or a
 * negative errno. */
static int add_file(struct making *making, int fd, uint64_t size_bytes,
		    const struct version *version, char *ret_last)
{
	uint64_t at = 0;
	struct version_stream stream;

	version_stream_init(&stream);
	*ret_last = '\n';
	for (;;) {
		ssize_t got = sys_pread(fd, making->chunk, CHUNK_BYTES, (off_t)at);
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		at += (uint64_t)got;
		if (at > size_bytes)
			return -ESTALE;
		version_stream_add(&stream, making->chunk, (uint64_t)got);
		*ret_last = making->chunk[got - 1];
		int error = add(making, making->chunk, (size_t)got);
		if (error < 0)
			return error;
	}
	struct version found = version_stream_finish(&stream);
	if (at != size_bytes || (version && !version_equal(&found, version)))
		return -ESTALE;
	return 0;
}

/* What is viewed itself is given by that. */
static void note_viewed(const struct segment *segment, const struct inject_rest *rest,
			struct inject *inject)
{
	if (inject->viewed_count == INJECTED_MAX || !instruction_is_named(segment, rest->path))
		return;
	inject->viewed[inject->viewed_count].dev = rest->stat->st_dev;
	inject->viewed[inject->viewed_count].ino = rest->stat->st_ino;
	inject->viewed_count++;
}

/* Does the process print it anyway? */
static bool is_printed(const struct inject *inject, const struct stat *stat)
{
	for (int i = 0; i < inject->viewed_count; i++)
		if (inject->viewed[i].dev == stat->st_dev && inject->viewed[i].ino == stat->st_ino)
			return true;
	for (int i = 0; i < inject->count; i++)
		if (inject->files[i].dev == stat->st_dev && inject->files[i].ino == stat->st_ino)
			return true;
	return false;
}

static size_t footer_bytes(const struct segment *segment)
{
	return sizeof(INJECT_END) - 1 + strnlen(segment->header->nonce, SEGMENT_NONCE_BYTES) +
	       sizeof(INJECT_END_CLOSE) - 1;
}

static int add_footer(struct making *making)
{
	const char *nonce = making->segment->header->nonce;
	size_t length = strnlen(nonce, SEGMENT_NONCE_BYTES);
	int error = length ? add(making, INJECT_END, sizeof(INJECT_END) - 1) : -EINVAL;

	if (error == 0)
		error = add(making, nonce, length);
	return error < 0 ? error : add(making, INJECT_END_CLOSE, sizeof(INJECT_END_CLOSE) - 1);
}

/* Would the command stay within its limits with so much more? */
static bool is_room(const struct making *making, uint64_t more_bytes, uint64_t more_lines)
{
	uint64_t bytes = making->bytes + more_bytes + footer_bytes(making->segment) +
			 making->rest->bytes;
	uint64_t lines = making->lines + more_lines + making->rest_lines;
	struct output_limits left = making->limits;

	if (bytes > left.bytes || lines > left.lines)
		return false;
	left.bytes -= bytes;
	left.lines -= lines;
	return command_within_so_far(making->segment, making->moment.capture_id,
				     making->moment.command_id, &left);
}

/* Lines of what comes behind: where they are limited, of the file that the viewer is about to
 * read. */
static void find_rest(struct making *making)
{
	const struct inject_rest *rest = making->rest;
	struct content content;

	if (making->is_rest_known)
		return;
	making->is_rest_known = true;
	making->rest_lines = FOOTER_LINES + 1;
	if (rest->notice || making->limits.lines == UINT64_MAX)
		return;
	making->rest_lines = FOOTER_LINES + rest->bytes;
	if (content_of_descriptor(rest->fd, making->limits.bytes, &content) == 0)
		making->rest_lines = FOOTER_LINES + content.lines;
}

/* Puts one in, where it is to be.  Returns 0, also where it is not; a negative errno where nothing
 * may be put in at all. */
static int add_instruction(struct making *making, int fd, const struct stat *stat,
			   inject_text *text, void *data, struct inject *inject)
{
	const struct segment *segment = making->segment;
	struct content content;
	struct shape shape;
	uint64_t lines;
	char last;
	int length = instruction_header(segment, making->path, making->chunk, CHUNK_BYTES);

	if (length < 0 || inject->count == INJECTED_MAX ||
	    content_and_shape(fd, INSTRUCTION_BYTES_MAX, &content, &shape) < 0 || !content.text ||
	    instruction_is_given(segment, &making->moment, stat->st_dev, stat->st_ino,
				 &content.version, &making->limits) ||
	    shape.longest > making->limits.line_bytes)
		return 0;
	find_rest(making);
	lines = HEADER_LINES + content.lines;
	if (!is_room(making, (uint64_t)length + content.version.size_bytes + 1, lines))
		return 0;
	if (making->fd < 0)
		making->fd = notice_memory();
	if (making->fd < 0)
		return making->fd;
	int error = add(making, making->chunk, (size_t)length);
	if (error == 0)
		error = add_file(making, fd, content.version.size_bytes, &content.version, &last);
	if (error == 0 && last != '\n')
		error = add(making, "\n", 1);
	making->lines += lines;
	if (error == 0)
		inject->files[inject->count++] = (struct injected){
			.dev = stat->st_dev,
			.ino = stat->st_ino,
			.version = content.version,
			.text = text(making->path, data),
		};
	return error;
}

/* Inspects every place.  Returns 0 or a negative errno. */
static int add_instructions(struct making *making, inject_text *text, void *data,
			    struct inject *inject)
{
	struct instruction_walk walk;
	struct stat stat;
	int error = 0;

	instruction_walk_init(making->segment, making->rest->path, false, true, &walk);
	while (error == 0 &&
	       instruction_walk_next(making->segment, &walk, making->path, sizeof(making->path))) {
		int fd = instruction_open(making->segment, making->path, &stat);
		if (fd < 0)
			continue;
		if (!is_printed(inject, &stat))
			error = add_instruction(making, fd, &stat, text, data, inject);
		(void)sys_close(fd);
	}
	return error;
}

static int make(struct making *making, inject_text *text, void *data, struct inject *inject,
		uint64_t *ret_before_bytes)
{
	const struct inject_rest *rest = making->rest;
	int error = add_instructions(making, text, data, inject);
	char last;

	if (making->fd < 0)
		return error < 0 ? error : -ENOENT;
	if (error == 0)
		error = add_footer(making);
	uint64_t before_bytes = making->bytes;
	if (error == 0)
		error = rest->notice
				? add(making, rest->notice, rest->bytes)
				: add_file(making, rest->fd, rest->bytes, rest->version, &last);
	if (error < 0) {
		(void)sys_close(making->fd);
		return error;
	}
	int readable = notice_seal(making->fd);
	if (readable >= 0)
		*ret_before_bytes = before_bytes;
	return readable;
}

/* What inject_file() does where it may. Apart: `making` is large, and the stack of one who may not
 * may be a signal handler's. */
__attribute__((noinline)) static int make_file(const struct segment *segment,
					       const struct request *request,
					       const struct inject_rest *rest, inject_text *text,
					       void *data, struct inject *inject,
					       uint64_t *ret_before_bytes)
{
	struct making making = { .segment = segment, .request = request, .rest = rest, .fd = -1 };
	const struct context *context = &request->context;
	int count = inject->count;

	note_viewed(segment, rest, inject);
	making.moment = moment_now(segment, context->scope_id, request->number, context->capture_id,
				   request->command_id);
	if (!making.moment.scope_epoch)
		return -ENOENT;
	making.limits = limits_of_context(segment, context);
	if (!is_room(&making, 0, 0))
		return -ENOENT;
	making.chunk = chunk_acquire();
	if (!making.chunk)
		return -ENOMEM;
	int readable = make(&making, text, data, inject, ret_before_bytes);
	chunk_release(making.chunk);
	if (readable < 0)
		inject->count = count;
	else if (count == 0)
		inject->moment = making.moment;
	return readable;
}

int inject_file(const struct segment *segment, const struct request *request,
		const struct inject_rest *rest, inject_text *text, void *data,
		struct inject *inject, uint64_t *ret_before_bytes)
{
	if (!may_inject(segment, request))
		return -ENOENT;
	return make_file(segment, request, rest, text, data, inject, ret_before_bytes);
}

bool inject_given(const struct segment *segment, const struct inject *inject, int index)
{
	const struct injected *file = &inject->files[index];
	return instruction_record(segment, &inject->moment, file->dev, file->ino, &file->version) ==
	       0;
}

void inject_write_record(const struct injected *injected, uint64_t scope_id,
			 struct journal_record *record, struct journal_details *ret_details)
{
	record->path = injected->text;
	record->amount = scope_id;
	record->flags = JOURNAL_INSTRUCTED_INJECTED;
	*ret_details = (struct journal_details){ .dev = injected->dev,
						 .ino = injected->ino,
						 .size_bytes = injected->version.size_bytes,
						 .after = injected->version };
}
