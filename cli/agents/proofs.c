/* Proofs: see proofs.h. */
#include "cli/agents/proofs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/content/contents.h"
#include "tracker/process/scope.h"
#include "tracker/segment/slot.h"

enum {
	CONTENT_BYTES_MAX = 16 << 20,
	MARK_BYTES = 48,  /* of a beginning or end by which a cut content is known */
	ALONE_BYTES = 64, /* what is shorter has to stand in lines of its own */
};

/* ---- texts ---- */

struct text {
	char *bytes;
	size_t length;
};

static const char REPLACEMENT[] = "\xef\xbf\xbd";
enum { REPLACEMENT_BYTES = sizeof(REPLACEMENT) - 1 };

/* Bytes of the UTF-8 character at the beginning; 0: there is none. */
static size_t character(const unsigned char *bytes, size_t count)
{
	size_t length = bytes[0] < 0x80             ? 1
			: (bytes[0] & 0xe0) == 0xc0 ? 2
			: (bytes[0] & 0xf0) == 0xe0 ? 3
			: (bytes[0] & 0xf8) == 0xf0 ? 4
						    : 0;
	uint32_t code = length == 1 ? bytes[0] : length ? bytes[0] & (0x7fu >> length) : 0;

	if (!length || length > count)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3fu);
	}
	bool surrogate = code >= 0xd800 && code < 0xe000;
	bool shortest = length == 1 || (length == 2 && code >= 0x80) ||
			(length == 3 && code >= 0x800) || (length == 4 && code >= 0x10000);
	return surrogate || !shortest || code > 0x10ffff ? 0 : length;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool ends_replaced(const struct text *text)
{
	return text->length >= REPLACEMENT_BYTES &&
	       memcmp(text->bytes + text->length - REPLACEMENT_BYTES, REPLACEMENT,
		      REPLACEMENT_BYTES) == 0;
}

/* What is compared of some bytes; bytes NULL: no memory.  The caller frees it. */
static struct text text_of(const char *bytes, size_t count)
{
	struct text text = { .bytes = malloc(REPLACEMENT_BYTES * count + 1) };

	while (count && is_blank(bytes[count - 1]))
		count--;
	/* Blank lines at the beginning, and not the indentation of the first other one. */
	size_t begin = 0;
	for (size_t i = 0; i < count && is_blank(bytes[i]); i++)
		if (bytes[i] == '\n')
			begin = i + 1;
	for (size_t at = begin; text.bytes && at < count;) {
		size_t length = character((const unsigned char *)bytes + at, count - at);
		bool replaced = !length || (length == REPLACEMENT_BYTES &&
					    memcmp(bytes + at, REPLACEMENT, length) == 0);
		if (bytes[at] == '\r' && at + 1 < count && bytes[at + 1] == '\n') {
			;
		} else if (!replaced) {
			memcpy(text.bytes + text.length, bytes + at, length);
			text.length += length;
		} else if (!ends_replaced(&text)) {
			memcpy(text.bytes + text.length, REPLACEMENT, REPLACEMENT_BYTES);
			text.length += REPLACEMENT_BYTES;
		}
		at += length ? length : 1;
	}
	return text;
}

/* Where a part is: at the boundaries of lines where it is short.  NULL: nowhere. */
static const char *find(const struct text *text, const struct text *part)
{
	const char *end = text->bytes + text->length, *at = text->bytes;

	while (part->length && (at = memmem(at, (size_t)(end - at), part->bytes, part->length))) {
		const char *after = at + part->length;
		if (part->length >= ALONE_BYTES ||
		    ((at == text->bytes || at[-1] == '\n') && (after == end || *after == '\n')))
			return at;
		at++;
	}
	return NULL;
}

bool proofs_text_holds(const char *text_bytes, size_t text_length, const char *part_bytes,
		       size_t part_length)
{
	struct text text = text_of(text_bytes, text_length),
		    part = text_of(part_bytes, part_length);
	bool holds = text.bytes && part.bytes && find(&text, &part);

	free(text.bytes);
	free(part.bytes);
	return holds;
}

/* ---- what was given ---- */

struct delivered {
	struct proof_delivery delivery;
	char *path;
	struct text text; /* what has to be found; bytes NULL: not read yet */
	bool is_lost;     /* its bytes are nowhere any more */
};

struct proofs {
	const struct segment *segment;
	uint64_t profiles;       /* 0: of any */
	bool is_reported;        /* a hook asks: what one reported has had its result */
	struct delivered *given; /* by command */
	size_t count, capacity;
};

static bool is_of_profile(const struct segment *segment, uint64_t scope_id, uint64_t profiles)
{
	const struct scope_slot *slot = scope_find(segment, scope_id);
	struct scope_slot copy;

	return slot && slot_read(slot, &copy, SCOPE_CHECKED_BYTES) && copy.id == scope_id &&
	       copy.profile && copy.profile <= SETTINGS_PROFILES_MAX &&
	       (profiles >> (copy.profile - 1) & 1);
}

static int collect(const struct proof_delivery *delivery, void *data)
{
	struct proofs *proofs = data;

	if (delivery->proof == PROOF_WHOLE || delivery->proof == PROOF_OFF_BRANCH ||
	    (delivery->proof == PROOF_REPORTED && proofs->is_reported) ||
	    (proofs->profiles &&
	     !is_of_profile(proofs->segment, delivery->scope_id, proofs->profiles)))
		return 0;
	if (proofs->count == proofs->capacity) {
		size_t larger = proofs->capacity ? 2 * proofs->capacity : 16;
		struct delivered *grown = realloc(proofs->given, larger * sizeof(*grown));
		if (!grown)
			return -1;
		proofs->given = grown;
		proofs->capacity = larger;
	}
	struct delivered *given = &proofs->given[proofs->count++];
	*given = (struct delivered){ .delivery = *delivery,
				     .path = delivery->path ? strdup(delivery->path) : NULL };
	given->delivery.path = given->path;
	return 0;
}

static int by_command(const void *left, const void *right)
{
	uint64_t a = ((const struct delivered *)left)->delivery.command_id,
		 b = ((const struct delivered *)right)->delivery.command_id;
	return a < b ? -1 : a > b;
}

static struct proofs *collect_all(const struct segment *segment, uint64_t scope_id,
				  uint64_t profiles)
{
	struct proofs *proofs = calloc(1, sizeof(*proofs));

	if (!proofs)
		return NULL;
	*proofs = (struct proofs){ .segment = segment,
				   .profiles = profiles,
				   .is_reported = scope_id != 0 };
	/* Of half a command's deliveries nothing would follow. */
	if (proof_each_delivery(segment, scope_id, collect, proofs) != 0 || !proofs->count) {
		proofs_free(proofs);
		return NULL;
	}
	qsort(proofs->given, proofs->count, sizeof(*proofs->given), by_command);
	return proofs;
}

struct proofs *proofs_collect(const struct segment *segment, uint64_t profiles)
{
	return profiles ? collect_all(segment, 0, profiles) : NULL;
}

struct proofs *proofs_collect_scope(const struct segment *segment, uint64_t scope_id)
{
	return scope_id ? collect_all(segment, scope_id, 0) : NULL;
}

void proofs_free(struct proofs *proofs)
{
	for (size_t i = 0; proofs && i < proofs->count; i++) {
		free(proofs->given[i].path);
		free(proofs->given[i].text.bytes);
	}
	if (proofs)
		free(proofs->given);
	free(proofs);
}

/* ---- its bytes ---- */

/* Reads a file of that version; NULL: it is another one.  The caller frees it. */
static char *read_version(int fd, const struct version *version)
{
	size_t size = version->size_bytes, count = 0;
	char *bytes = fd >= 0 ? malloc(size + 1) : NULL;
	struct version_stream stream;
	ssize_t got;

	while (bytes && count <= size &&
	       (got = pread(fd, bytes + count, size + 1 - count, (off_t)count)) > 0)
		count += (size_t)got;
	version_stream_init(&stream);
	if (bytes)
		version_stream_add(&stream, bytes, count);
	struct version found = version_stream_finish(&stream);
	if (fd >= 0)
		(void)close(fd);
	if (bytes && version_equal(&found, version))
		return bytes;
	free(bytes);
	return NULL;
}

static char *read_delivered(const struct segment *segment, const struct delivered *given)
{
	const struct version *version = &given->delivery.version;
	int fd = given->path ? open(given->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	char *bytes = read_version(fd, version);

	return bytes ? bytes : read_version(contents_open(segment, version), version);
}

/* Lines `first` to `last`, from 1, of some bytes. */
static void read_lines(const char *bytes, size_t size, uint64_t first, uint64_t last,
		       const char **ret_begin, size_t *ret_length)
{
	const char *at = bytes, *end = bytes + size;
	uint64_t line = 1;

	for (; line < first && at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	*ret_begin = at;
	for (; line <= last && at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	*ret_length = (size_t)(at - *ret_begin);
}

/* What has to be found of it; false: that is not known. */
static bool prepare(const struct proofs *proofs, struct delivered *given)
{
	const struct proof_delivery *delivery = &given->delivery;

	if (given->text.bytes || given->is_lost)
		return given->text.bytes;
	given->is_lost = true;
	if (delivery->version.size_bytes > CONTENT_BYTES_MAX)
		return false;
	char *bytes = read_delivered(proofs->segment, given);
	if (!bytes)
		return false;
	const char *begin = bytes;
	size_t length = delivery->version.size_bytes;
	if (delivery->kind == PROOF_OF_LINES)
		read_lines(bytes, length, delivery->first_line, delivery->last_line, &begin,
			   &length);
	given->text = text_of(begin, length);
	free(bytes);
	return given->text.bytes;
}

/* ---- is it there? ---- */

/* Is a result as long as what the readers and viewers of a command printed?  Blanks at the end may
 * have been taken off. */
static bool is_as_long(const struct entry_result *result, const struct proof_delivery *delivery)
{
	enum { BLANKS = 2 };
	return delivery->command_bytes >= result->body_length &&
	       delivery->command_bytes - result->body_length <= BLANKS;
}

/* Does the result hold all that the command gave?  given: count of them. */
static bool holds_all(const struct proofs *proofs, struct delivered *given, size_t count,
		      const struct entry_result *result, const struct text *text)
{
	size_t length = 0;

	for (size_t i = 0; i < count; i++) {
		if (given[i].delivery.kind == PROOF_OF_REQUEST) {
			if (!is_as_long(result, &given[i].delivery))
				return false;
			continue;
		}
		if (!prepare(proofs, &given[i]) || !find(text, &given[i].text))
			return false;
		length += given[i].text.length;
	}
	/* One that lies within another is not there beside it. */
	return length <= text->length;
}

/* Calls back for each command of a scope. */
static bool each_command(struct proofs *proofs, uint64_t scope_id,
			 bool (*callback)(struct proofs *proofs, struct delivered *given,
					  size_t count, void *data),
			 void *data)
{
	for (size_t i = 0, next; i < proofs->count; i = next) {
		uint64_t command = proofs->given[i].delivery.command_id;
		for (next = i;
		     next < proofs->count && proofs->given[next].delivery.command_id == command;
		     next++)
			;
		if (command && (!scope_id || proofs->given[i].delivery.scope_id == scope_id) &&
		    callback(proofs, &proofs->given[i], next - i, data))
			return true;
	}
	return false;
}

struct question {
	const struct entry_result *result;
	struct text text;
	bool is_cut; /* the model was given less */
	uint64_t command, scope;
};

static bool ask(struct proofs *proofs, struct delivered *given, size_t count, void *data)
{
	struct question *question = data;

	if (!holds_all(proofs, given, count, question->result, &question->text))
		return false;
	question->command = given->delivery.command_id;
	question->scope = given->delivery.scope_id;
	for (size_t i = 0; i < count; i++)
		given[i].delivery.command_id = 0;
	return true;
}

static struct text text_of_result(const struct entry_result *result)
{
	return text_of(result->text + result->body, result->body_length);
}

bool proofs_find(struct proofs *proofs, const struct entry_result *result, uint64_t scope_id,
		 uint64_t *ret_command, uint64_t *ret_scope)
{
	struct question question = { .result = result, .text = text_of_result(result) };
	bool found = question.text.bytes && each_command(proofs, scope_id, ask, &question);

	free(question.text.bytes);
	if (!found)
		return false;
	*ret_command = question.command;
	*ret_scope = question.scope;
	return true;
}

static bool has_mark(const struct text *text, const char *mark)
{
	return memmem(text->bytes, text->length, mark, MARK_BYTES);
}

static bool contradict(struct proofs *proofs, struct delivered *given, size_t count, void *data)
{
	const struct question *question = data;

	for (size_t i = 0; i < count; i++) {
		const struct text *whole = &given[i].text;
		if (given[i].delivery.kind == PROOF_OF_REQUEST || !prepare(proofs, &given[i]) ||
		    whole->length <= MARK_BYTES ||
		    (!question->is_cut && find(&question->text, whole)))
			continue;
		if (has_mark(&question->text, whole->bytes) ||
		    has_mark(&question->text, whole->bytes + whole->length - MARK_BYTES)) {
			(void)proof_command(proofs->segment, given[i].delivery.command_id,
					    PROOF_CONTRADICTED);
			break;
		}
	}
	return false;
}

void proofs_contradict(struct proofs *proofs, const struct entry_result *result, uint64_t scope_id,
		       bool is_cut)
{
	struct question question = { .result = result,
				     .text = text_of_result(result),
				     .is_cut = is_cut };

	if (question.text.bytes)
		(void)each_command(proofs, scope_id, contradict, &question);
	free(question.text.bytes);
}

/* ---- all of a scope ---- */

static int drop(const struct proof_delivery *delivery, void *data)
{
	if (delivery->proof == PROOF_NONE || delivery->proof == PROOF_REPORTED)
		(void)proof_command(data, delivery->command_id, PROOF_CONTRADICTED);
	return 0;
}

void proofs_drop(const struct segment *segment, uint64_t scope_id)
{
	(void)proof_each_delivery(segment, scope_id, drop, (void *)segment);
}
