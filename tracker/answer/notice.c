/* The notice: see notice.h. */
#include "tracker/answer/notice.h"

#include <errno.h>
#include <linux/memfd.h>
#include <stdbool.h>
#include <string.h>

#include "tracker/path/decimal.h"
#include "tracker/path/excerpt.h"
#include "tracker/path/path.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum {
	EXCERPT_PIECE_BYTES = 256, /* of the file at a time */
	EXCERPT_ONE_BYTES = 5,     /* a character, and NUL */
};

struct text {
	char *bytes;
	size_t length;
	size_t capacity; /* room for NUL kept free */
	bool overflow;
};

static void append(struct text *text, const char *bytes, size_t count)
{
	if (text->overflow || count >= text->capacity - text->length) {
		text->overflow = true;
		return;
	}
	memcpy(text->bytes + text->length, bytes, count);
	text->length += count;
}

/* Ends the text.  Returns its length, or -ENAMETOOLONG. */
static int ended(struct text *text)
{
	if (text->overflow)
		return -ENAMETOOLONG;
	text->bytes[text->length] = '\0';
	return (int)text->length;
}

static void append_number(struct text *text, uint64_t number)
{
	char digits[DECIMAL_BYTES_MAX];
	append(text, digits, (size_t)(decimal_write(digits, number) - digits));
}

/* What is rendered with. */
struct render {
	const struct segment *segment;
	const char *path;
	const struct content *content;
	int fd;              /* {excerpt}; -1: it is empty */
	size_t excerpt_room; /* bytes of the notice for each */
	unsigned excerpts;   /* how many there were */
	bool has_nonce;
};

/* The first characters of the file, escaped: as many as were asked for and as fit. */
static void append_excerpt(struct text *text, const struct render *render)
{
	static const char CUT[] = "... [truncated]";
	uint64_t left = render->segment->settings->history_result_max_length;
	uint64_t offset = 0, size = render->content->version.size_bytes;
	char piece[EXCERPT_PIECE_BYTES], one[EXCERPT_ONE_BYTES], escaped[4 * EXCERPT_ONE_BYTES];
	size_t room = render->excerpt_room;

	if (room <= sizeof(CUT))
		return;
	room -= sizeof(CUT);
	while (left > 0 && offset < size) {
		ssize_t got = sys_pread(render->fd, piece, sizeof(piece), (off_t)offset);
		if (got <= 0)
			break;
		size_t end = (size_t)got, at = 0;
		/* A sequence that goes on behind this piece begins the next one; none begins and
		 * ends in none. */
		if (offset + end < size && excerpt_whole(piece, end))
			end = excerpt_whole(piece, end);
		while (at < end && left > 0) {
			size_t length = excerpt_bytes(piece + at, end - at, 1, NULL);
			memcpy(one, piece + at, length);
			one[length] = '\0';
			size_t bytes = (size_t)path_escape(one, escaped, sizeof(escaped));
			if (bytes > room) { /* as an error is */
				left = 0;
				break;
			}
			append(text, escaped, bytes);
			room -= bytes;
			at += length;
			left--;
		}
		offset += at;
	}
	if (offset < size)
		append(text, CUT, sizeof(CUT) - 1);
}

/* Renders what begins with a brace.  Returns how much of the template that was. */
static size_t append_field(struct text *text, struct render *render, const char *at)
{
	const struct segment_header *header = render->segment->header;
	char digits[VERSION_DIGITS + 1];

	if (strncmp(at, "{path}", 6) == 0) {
		int length = path_escape(render->path, text->bytes + text->length,
					 text->capacity - text->length);
		text->overflow |= length < 0;
		text->length += length < 0 ? 0 : (size_t)length;
		return 6;
	}
	if (strncmp(at, "{lines}", 7) == 0) {
		append_number(text, render->content->lines);
		return 7;
	}
	if (strncmp(at, "{bytes}", 7) == 0) {
		append_number(text, render->content->version.size_bytes);
		return 7;
	}
	if (strncmp(at, "{version}", 9) == 0) {
		version_digits(&render->content->version, digits);
		append(text, digits, VERSION_DIGITS);
		return 9;
	}
	if (strncmp(at, "{excerpt}", 9) == 0) {
		render->excerpts++;
		if (render->fd >= 0)
			append_excerpt(text, render);
		return 9;
	}
	if (strncmp(at, "{nonce}", 7) == 0) {
		append(text, header->nonce, strnlen(header->nonce, SEGMENT_NONCE_BYTES));
		render->has_nonce = header->nonce[0] != '\0'; /* emptied by damage: none */
		return 7;
	}
	append(text, at, 1);
	return 1;
}

static int render_template(struct render *render, char *ret_text, size_t capacity)
{
	const struct segment *segment = render->segment;
	const char *template = segment_text(segment, segment->settings->notice_template, NULL);
	struct text text = { .bytes = ret_text, .capacity = capacity };

	if (!template || capacity == 0)
		return -EINVAL;
	for (const char *at = template; *at;) {
		size_t plain = strcspn(at, "{");
		append(&text, at, plain);
		at += plain;
		if (*at)
			at += append_field(&text, render, at);
	}
	append(&text, "\n", 1);
	int length = ended(&text);

	if (length < 0)
		return length;
	return render->has_nonce && !memchr(ret_text, '\n', text.length - 1) ? length : -EINVAL;
}

int notice_render(const struct segment *segment, const char *path, const struct content *content,
		  int fd, char *ret_text, size_t capacity)
{
	struct render render = { .segment = segment, .path = path, .content = content, .fd = -1 };
	int length = render_template(&render, ret_text, capacity);

	/* What the rest leaves is for the excerpts. */
	if (length < 0 || fd < 0 || !render.excerpts)
		return length;
	render.fd = fd;
	render.excerpt_room = (capacity - 1 - (size_t)length) / render.excerpts;
	return render_template(&render, ret_text, capacity);
}

int notice_lines(const struct segment *segment, const char *path, const struct content *content,
		 uint64_t first, uint64_t last, char *ret_text, size_t capacity)
{
	const char *nonce = segment->header->nonce;
	size_t nonce_bytes = strnlen(nonce, SEGMENT_NONCE_BYTES);
	struct text text = { .bytes = ret_text, .capacity = capacity };
	char digits[VERSION_DIGITS + 1];

	if (capacity == 0 || nonce_bytes == 0)
		return -EINVAL;
#define APPEND(literal) append(&text, literal, sizeof(literal) - 1)
	APPEND("[Lines ");
	append_number(&text, first);
	APPEND("-");
	append_number(&text, last);
	APPEND(" previously read: ");
	int length = path_escape(path, text.bytes + text.length, text.capacity - text.length);
	if (length < 0)
		return length;
	text.length += (size_t)length;
	APPEND(". Content unchanged since last read. If these lines are not in your context, read "
	       "the same lines again to get them. (file of ");
	append_number(&text, content->lines);
	APPEND(" lines, version ");
	version_digits(&content->version, digits);
	append(&text, digits, VERSION_DIGITS);
	APPEND(", ");
	append(&text, nonce, nonce_bytes);
	APPEND(")]\n");
#undef APPEND
	return ended(&text);
}

/* Does a shell take a word for what it is? */
static bool is_plain(const char *word)
{
	static const char OTHERS[] = "%+,-./:=@_^";
	const char *at = word;

	while ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
	       (*at >= 'A' && *at <= 'Z') || (*at & 0x80) || (*at && strchr(OTHERS, *at)))
		at++;
	return at > word && !*at;
}

/* A word as it is written for a shell, as far as there is room. */
static void append_word(struct text *text, const char *word)
{
	const char *quote = is_plain(word) ? "" : "'";

	append(text, quote, strlen(quote));
	for (; *word && !text->overflow; word++)
		append(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	append(text, quote, strlen(quote));
}

static const char MORE[] = "...";

/* Not cut inside a character. */
static void cut_text(struct text *text)
{
	text->length = excerpt_whole(text->bytes, text->length);
	memcpy(text->bytes + text->length, MORE, sizeof(MORE));
}

void notice_command(char *const words[], char *ret_text, size_t capacity)
{
	struct text text = { .bytes = ret_text, .capacity = capacity - sizeof(MORE) };

	for (size_t i = 0; words[i] && !text.overflow; i++) {
		if (i)
			append(&text, " ", 1);
		append_word(&text, words[i]);
	}
	if (text.overflow)
		cut_text(&text);
	else
		ret_text[text.length] = '\0';
}

/* The beginning of a command.  ret_text: capacity bytes. */
static const char *cut_command(const char *command, char *ret_text, size_t capacity)
{
	size_t length = strlen(command);
	struct text text = { .bytes = ret_text, .length = capacity - sizeof(MORE) - 1 };

	if (length <= text.length)
		return command;
	memcpy(ret_text, command, text.length);
	cut_text(&text);
	return ret_text;
}

static void append_age(struct text *text, uint64_t age_ns)
{
	uint64_t seconds = age_ns / 1000000000u;
	uint64_t minutes = seconds / 60;
	append_number(text, minutes ? minutes : seconds);
	const char *unit = minutes ? " minute" : " second";
	append(text, unit, strlen(unit));
	if ((minutes ? minutes : seconds) != 1)
		append(text, "s", 1);
}

int notice_request(const struct segment *segment, const char *command, bool is_same,
		   uint64_t output_bytes, uint64_t age_ns, char *ret_text, size_t capacity)
{
	enum { COMMAND_BYTES = 400 };
	const char *nonce = segment->header->nonce;
	size_t nonce_bytes = strnlen(nonce, SEGMENT_NONCE_BYTES);
	struct text text = { .bytes = ret_text, .capacity = capacity };
	char beginning[COMMAND_BYTES];

	if (capacity == 0 || nonce_bytes == 0)
		return -EINVAL;
#define APPEND(literal) append(&text, literal, sizeof(literal) - 1)
	if (is_same)
		APPEND("[Command already run: ");
	else
		APPEND("[Command already run in other words: ");
	command = cut_command(command, beginning, sizeof(beginning));
	int length = path_escape(command, text.bytes + text.length, text.capacity - text.length);
	if (length < 0)
		return length;
	text.length += (size_t)length;
	APPEND(". Same output as ");
	append_age(&text, age_ns);
	APPEND(" ago: nothing that it reads has changed. If it is not in your context, repeat the "
	       "same command to get it in full. (");
	append_number(&text, output_bytes);
	APPEND(" bytes, ");
	append(&text, nonce, nonce_bytes);
	APPEND(")]\n");
#undef APPEND
	return ended(&text);
}

int notice_memory(void)
{
	return (int)sys_call3(SYS_memfd_create, (long)"seen-notice",
			      MFD_CLOEXEC | MFD_ALLOW_SEALING, 0);
}

int notice_seal(int memfd)
{
	char path[PROC_PATH_BYTES];
	int error = sys_fcntl(memfd, F_ADD_SEALS,
			      F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);

	/* Opened anew, read-only and at offset 0, as a file is. */
	subject_path(SUBJECT_SELF, memfd, path);
	int readable = error == 0 ? sys_open(path, O_RDONLY | O_CLOEXEC, 0) : error;
	(void)sys_close(memfd);
	return readable;
}

int notice_file(const char *text, size_t bytes)
{
	/* A process may not make files larger than this, in memory neither; beyond, a signal ends
	 * it. */
	if (!sys_may_be_this_large(bytes))
		return -EFBIG;
	int memfd = notice_memory();
	if (memfd < 0)
		return memfd;
	ssize_t wrote = sys_write(memfd, text, bytes);
	sys_wrote_aside(wrote);
	if (wrote != (ssize_t)bytes) {
		(void)sys_close(memfd);
		return -EIO;
	}
	return notice_seal(memfd);
}
