/* A search's words: its order and its normal form, where its program is the first.  A byte says what is known of files, and then words, each ended by a NUL. */
#include "fuzz_harness.h"

#include "tracker/process/normal_form.h"
#include "tracker/process/search_order.h"

enum { WORDS_MAX = 64, IS_TERMINAL = 1, IS_ASKED = 2, HAS_SETTINGS = 4, FORM_BYTES = 4096 };

/* Of a name, always the same. */
static bool has_bit(const char *path)
{
	return (unsigned char)path[0] & 1;
}

static bool has_no_bit(const char *path)
{
	return !has_bit(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char setting[] = "RIPGREP_CONFIG_PATH=/nowhere", other[] = "HOME=/";
	char *words[WORDS_MAX + 1] = { NULL }, *environment[] = { other, NULL, NULL };
	char form[FORM_BYTES], again[FORM_BYTES], small[16];
	size_t count = 0;

	if (!size)
		return 0;
	struct normal_facts facts = { data[0] & IS_TERMINAL, data[0] & IS_ASKED ? has_bit : NULL,
				      data[0] & IS_ASKED ? has_no_bit : NULL };
	environment[1] = data[0] & HAS_SETTINGS ? setting : NULL;
	data++;
	size--;
	while (size && count < WORDS_MAX) {
		const uint8_t *at = data;
		size_t part = fuzz_cut(&data, &size);
		words[count++] = fuzz_text(at, part);
	}
	if (count) {
		const char *name = words[0];
		enum search_order order = search_order(name, words, environment, facts.is_text);
		if (!search_order_counts(name))
			(void)order;
		/* What is not known of files makes nothing certain. */
		if (search_order(name, words, environment, NULL) == SEARCH_FIXED)
			fuzz_holds(order == SEARCH_FIXED);
		size_t bytes = normal_form(name, words, &facts, form, sizeof(form));
		fuzz_holds(bytes <= sizeof(form) && (!bytes || !form[bytes - 1]));
		fuzz_holds(!bytes || normal_form_package(name));
		fuzz_holds(normal_form(name, words, &facts, again, sizeof(again)) == bytes &&
			   !memcmp(form, again, bytes));
		size_t little = normal_form(name, words, &facts, small, sizeof(small));
		fuzz_holds(little == (bytes <= sizeof(small) ? bytes : 0));
		(void)normal_form_applies(environment);
	}
	for (size_t i = 0; i < count; i++)
		free(words[i]);
	return 0;
}
