/* JSON, written member by member: see json_out.h. */
#include "cli/base/json_out.h"

#include <errno.h>

#include "cli/base/text.h"

static void start_member(struct json_out *out, const char *name)
{
	if (out->more)
		(void)putc_unlocked(',', out->file);
	out->more = true;
	if (!name)
		return;
	(void)putc_unlocked('"', out->file);
	(void)fputs_unlocked(name, out->file);
	(void)fputs_unlocked("\":", out->file);
}

void json_out_init(struct json_out *out, const char *name, char bracket)
{
	start_member(out, name);
	(void)putc_unlocked(bracket, out->file);
	out->more = false;
}

void json_out_finish(struct json_out *out, char bracket)
{
	(void)putc_unlocked(bracket, out->file);
	out->more = true;
}

void json_out_word(struct json_out *out, const char *name, const char *word)
{
	if (!word)
		return;
	start_member(out, name);
	(void)putc_unlocked('"', out->file);
	(void)fputs_unlocked(word, out->file);
	(void)putc_unlocked('"', out->file);
}

void json_out_text(struct json_out *out, const char *name, const char *bytes)
{
	if (!bytes)
		return;
	start_member(out, name);
	text_json_append(out->file, bytes);
}

void json_out_number(struct json_out *out, const char *name, uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits);

	if (number > INT64_MAX)
		return;
	start_member(out, name);
	*--at = '\0';
	do {
		*--at = (char)('0' + number % 10);
	} while (number /= 10);
	(void)fputs_unlocked(at, out->file);
}

void json_out_known(struct json_out *out, const char *name, uint64_t number)
{
	if (number)
		json_out_number(out, name, number);
}

void json_out_boolean(struct json_out *out, const char *name, bool value)
{
	start_member(out, name);
	(void)fputs_unlocked(value ? "true" : "false", out->file);
}

void json_out_value(struct json_out *out, const char *name, json_t *value)
{
	start_member(out, name);
	if (text_json_write(out->file, value) < 0)
		out->incomplete = true;
	json_decref(value);
}

int json_out_line(struct json_out *out)
{
	(void)putc_unlocked('\n', out->file);
	out->more = false;
	return out->incomplete || !text_json_is_whole() ? -ENOMEM : 0;
}
