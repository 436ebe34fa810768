/*
 * The complete, commented seen.ini, generated from the list of options: docs/seen.ini.
 */
#ifndef SEEN_CONFIG_DOCUMENT_H
#define SEEN_CONFIG_DOCUMENT_H

#include <stddef.h>

/* config_document(): every option with its documentation, unit, range or choices, what a
 * workspace's .seen.ini may do with it, its variable, its flag and its default; then the keys of
 * [agent NAME].
 *
 * The text is itself a valid seen.ini that sets nothing: assignments are commented out by one ";".
 * It is the same on every machine.  Returns 0, the text (NUL-terminated; the caller frees it) and
 * its length in bytes without the NUL; or -ENOMEM.
 */
int config_document(char **ret_text, size_t *ret_bytes);

#endif
