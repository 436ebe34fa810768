/*
 * Numbers for a terminal that fit into a few columns.  See top_model.h.
 */
#ifndef SEEN_CLI_TOP_TEXT_H
#define SEEN_CLI_TOP_TEXT_H

#include <stdint.h>

enum { TOP_NUMBER_BYTES = 16 };

/* top_size(): bytes in at most 7 columns: "0 B", "9,999 B", "9.8 KiB" ...  top_count(): a number in
 * at most 6: "99,999", "1234k", "12M" ...
 * top_per_second(): a rate in at most 6: "0", "0.3", "12", "4,567".  top_span(): a time span in at
 * most 4: "0s", "59s", "12m", "3h", "9d".
 * top_clock(): a time span as "0:00:07".  Return ret_text, TOP_NUMBER_BYTES long. */
const char *top_size(uint64_t bytes, char *ret_text);
const char *top_count(uint64_t number, char *ret_text);
const char *top_per_second(double rate, char *ret_text);
const char *top_span(uint64_t seconds, char *ret_text);
const char *top_clock(uint64_t seconds, char *ret_text);

#endif
