/*
 * Decimal numbers in text, without libc's formatted input and output.  Async-signal-safe.
 */
#ifndef SEEN_TRACKER_DECIMAL_H
#define SEEN_TRACKER_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_BYTES_MAX = 20 }; /* digits of UINT64_MAX */

/* decimal_write(): writes the digits at `at`, without NUL.  Returns the place behind them. */
static inline char *decimal_write(char *at, uint64_t number)
{
	char digits[DECIMAL_BYTES_MAX];
	int count = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

/* decimal_parse(): reads digits at `at`.  Returns the place behind them, or NULL when there are
 * none or the number does not fit 64 bits; *ret_number is set only on success. */
static inline const char *decimal_parse(const char *at, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (*at < '0' || *at > '9')
		return NULL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (number > (UINT64_MAX - 9) / 10)
			return NULL;
		number = number * 10 + (uint64_t)(*at - '0');
	}
	*ret_number = number;
	return at;
}

#endif
