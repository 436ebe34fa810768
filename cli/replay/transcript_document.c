/* Documents of sessions: see transcript_reader.h.  Nothing of a list is held but the part that is
 * being reported. */
#include "cli/replay/transcript_document.h"

#include <errno.h>
#include <string.h>

#include "cli/replay/transcript_reader.h"

struct document {
	struct transcript *transcript;
	const struct document_reader *reader;
	void *data;
	uint64_t sessions;
	bool known;   /* something of it was of the reader's format */
	bool in_bare; /* parts without a session around them have begun */
};

static bool is_among(const char *const *names, const char *key)
{
	for (size_t i = 0; names && names[i]; i++)
		if (strcmp(names[i], key) == 0)
			return true;
	return false;
}

/* The rest of a list, behind its bracket. */
static int read_list(struct document *document, const char *key)
{
	struct json_walk *walk = &document->transcript->walk;
	int more;

	while ((more = json_walk_item(walk)) > 0) {
		json_t *part = NULL;
		int error = json_walk_read(walk, &part);
		if (error == 0) {
			document->known = true;
			error = document->reader->part(document->data, key, part);
		}
		json_decref(part);
		if (error < 0)
			return error;
	}
	return more;
}

static int start(struct document *document)
{
	return document->reader->start(document->data, document->sessions++);
}

static int read_member(struct document *document, const char *key)
{
	json_t *value = NULL;
	int error = json_walk_read(&document->transcript->walk, &value);

	if (error == 0)
		document->reader->member(document->data, key, value);
	json_decref(value);
	return error;
}

static int read_session(struct document *document)
{
	struct json_walk *walk = &document->transcript->walk;
	char key[64];
	int more, error = start(document);

	if (error < 0)
		return error;
	(void)json_walk_is(walk, '{');
	while ((more = json_walk_key(walk, key, sizeof(key))) > 0) {
		if (is_among(document->reader->lists, key) && json_walk_is(walk, '['))
			error = read_list(document, key);
		else if (is_among(document->reader->members, key))
			error = read_member(document, key);
		else
			error = json_walk_pass(walk);
		if (error < 0)
			return error == -ENODATA ? -EBADMSG : error;
	}
	return more;
}

/* A value that is a session, or a part of one that has nothing around it. */
static int read_value(struct document *document)
{
	const struct document_reader *reader = document->reader;
	json_t *value = NULL;
	bool is_session = false;
	int error = json_walk_read(&document->transcript->walk, &value);

	for (size_t i = 0; error == 0 && reader->lists[i]; i++) {
		const json_t *list = json_object_get(value, reader->lists[i]);
		if (!json_is_array(list))
			continue;
		if (!is_session)
			error = start(document);
		is_session = document->known = true;
		for (size_t k = 0; error == 0 && k < json_array_size(list); k++)
			error = reader->part(document->data, reader->lists[i],
					     json_array_get(list, k));
	}
	if (error == 0 && !is_session) {
		if (!document->in_bare)
			error = start(document);
		document->in_bare = document->known = true;
		if (error == 0)
			error = reader->part(document->data, "", value);
	}
	json_decref(value);
	return error;
}

/* A reader of sessions alone need not hold one; where parts may come without a session around them,
 * a value is taken before it is known what it is. */
static int read_next(struct document *document)
{
	if (document->reader->bare)
		return read_value(document);
	if (json_walk_peek(&document->transcript->walk) == '{')
		return read_session(document);
	return json_walk_pass(&document->transcript->walk);
}

int transcript_document(struct transcript *transcript, const struct document_reader *reader,
			void *data)
{
	struct document document = { .transcript = transcript, .reader = reader, .data = data };
	struct json_walk *walk = &transcript->walk;
	int byte, error = 0;

	while (error == 0 && (byte = json_walk_peek(walk)) != EOF) {
		if (byte == '[') {
			(void)json_walk_is(walk, '[');
			while (error == 0 && (error = json_walk_item(walk)) > 0)
				error = read_next(&document);
		} else {
			error = read_next(&document);
		}
	}
	if (error == -ENODATA)
		error = -EBADMSG;
	return error == 0 && !document.known ? -EINVAL : error;
}
