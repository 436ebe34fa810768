/* Numbers for a terminal: see top_text.h. */
#include "cli/top/top_text.h"

#include <stdio.h>

#include "cli/base/text.h"

const char *top_size(uint64_t bytes, char *ret_text)
{
	static const char *const UNITS[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char number[TEXT_NUMBER_BYTES];
	double size = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 10000) {
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%s B", text_number(bytes, number));
		return ret_text;
	}
	while (size >= 999.5 && unit + 1 < sizeof(UNITS) / sizeof(UNITS[0])) {
		size /= 1024;
		unit++;
	}
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%.*f %s", size < 9.95 ? 1 : 0, size,
		       UNITS[unit]);
	return ret_text;
}

const char *top_count(uint64_t number, char *ret_text)
{
	static const char UNITS[] = "kMGTPE";
	char text[TEXT_NUMBER_BYTES];
	size_t unit = 0;

	if (number < 100000) {
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%s", text_number(number, text));
		return ret_text;
	}
	for (number /= 1000; number >= 10000; number /= 1000)
		unit++;
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%llu%c", (unsigned long long)number,
		       UNITS[unit]);
	return ret_text;
}

const char *top_per_second(double rate, char *ret_text)
{
	if (rate < 0.05)
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "0");
	else if (rate < 9.95)
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%.1f", rate);
	else
		(void)top_count((uint64_t)(rate + 0.5), ret_text);
	return ret_text;
}

const char *top_span(uint64_t seconds, char *ret_text)
{
	static const struct {
		uint64_t seconds;
		char letter;
	} UNITS[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	size_t unit = 0;

	while (unit < 3 && seconds < UNITS[unit].seconds)
		unit++;
	uint64_t number = seconds / UNITS[unit].seconds;
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%llu%c",
		       (unsigned long long)(number > 999 ? 999 : number), UNITS[unit].letter);
	return ret_text;
}

const char *top_clock(uint64_t seconds, char *ret_text)
{
	if (seconds > UINT64_C(999) * 3600)
		return top_span(seconds, ret_text);
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%u:%02u:%02u", (unsigned)(seconds / 3600),
		       (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
	return ret_text;
}
