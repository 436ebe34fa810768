/* Lines and their writers for the page: see report_html_blame.h. */
#include "cli/report/report_html_blame.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/undo/blame.h"

enum {
	FILES_MAX = 200, /* each is searched for in all undo records */
	FILE_BYTES_MAX = 1 << 17,
	BYTES_MAX = 1 << 21, /* of all, in the page */
};

struct page_files {
	const struct report *report;
	json_t *files;
	json_t *seen; /* paths that were met, as members */
	size_t left;  /* bytes */
	size_t left_out;
};

static json_t *origins_json(const struct blame *blame)
{
	json_t *array = json_array();

	for (size_t i = 0; i < blame->origin_count; i++) {
		const struct blame_origin *origin = &blame->origins[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "kind",
					  json_string(blame_kind_name(origin->kind)));
		if (origin->step)
			(void)json_object_set_new(object, "step",
						  json_integer(origin->step->number));
		(void)json_array_append_new(array, object);
	}
	return array;
}

static json_t *runs_json(const struct blame *blame)
{
	json_t *array = json_array();

	for (size_t i = 0, end; i < blame->count; i = end) {
		uint32_t origin = blame->lines[i].origin;
		for (end = i + 1; end < blame->count && blame->lines[end].origin == origin; end++)
			;
		(void)json_array_append_new(array, json_integer(origin));
		(void)json_array_append_new(array, json_integer((json_int_t)(end - i)));
	}
	return array;
}

static int add_text(struct page_files *files, const char *name, const char *path)
{
	struct blame blame;
	int error = blame_read(&files->report->story.records, &files->report->steps, path, &blame);

	if (error == 0 && (blame.size_bytes > FILE_BYTES_MAX || blame.size_bytes > files->left)) {
		files->left_out++;
	} else if (error == 0) {
		json_t *object = json_object();
		char *text = strndup(blame.text, blame.size_bytes);
		files->left -= blame.size_bytes;
		(void)json_object_set_new(object, "path", text_json(name));
		(void)json_object_set_new(object, "text", text ? text_json(text) : NULL);
		(void)json_object_set_new(object, "origins", origins_json(&blame));
		(void)json_object_set_new(object, "runs", runs_json(&blame));
		(void)json_array_append_new(files->files, object);
		error = text ? 0 : -ENOMEM;
		free(text);
	}
	blame_free(&blame);
	/* It is there no more, or it is no text: there is nothing to show. */
	if (error == -ENOMEM || error == 0 || error == -ENOENT || error == -ENOTDIR ||
	    error == -EISDIR || error == -EINVAL || error == -EFBIG)
		return error == -ENOMEM ? error : 0;
	message("%s: its lines cannot be shown: %s", name, strerror(-error));
	return 0;
}

static int add_file(struct page_files *files, const struct story_file *file)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", files->report->workspace, file->path);

	if (file->change == STORY_REMOVED || file->is_binary || length >= (int)sizeof(path) ||
	    json_object_get(files->seen, path))
		return 0;
	if (json_object_set_new_nocheck(files->seen, path, json_true()) < 0)
		return -ENOMEM;
	if (json_object_size(files->seen) > FILES_MAX) {
		files->left_out++;
		return 0;
	}
	return add_text(files, file->path, path);
}

json_t *report_html_blame(const struct report *report)
{
	struct page_files files = { .report = report, .left = BYTES_MAX };
	json_t *object = json_object();
	int error = 0;

	files.files = json_array();
	files.seen = json_object();
	for (size_t i = report->workspace ? report->story.count : 0; i-- > 0 && error == 0;)
		for (size_t j = 0; j < report->story.steps[i].count && error == 0; j++)
			error = add_file(&files, &report->story.steps[i].files[j]);
	json_decref(files.seen);
	(void)json_object_set_new(object, "files", files.files);
	(void)json_object_set_new(object, "left_out", json_integer((json_int_t)files.left_out));
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}
