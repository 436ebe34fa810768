/*
 * Names of errors: glibc has strerrorname_np(3) since 2.32, musl has none.
 */
#ifndef SEEN_CLI_ERROR_NAME_H
#define SEEN_CLI_ERROR_NAME_H

/* error_name(): "ENOENT", as strerrorname_np(3) has it; NULL: no error of Linux has this number. */
const char *error_name(int error);

#endif
