/* Files with keys, for `seen attest` and `seen verify`: messages included. */
#ifndef SEEN_CLI_KEY_FILE_H
#define SEEN_CLI_KEY_FILE_H

#include <stddef.h>

#include "cli/attest/ed25519.h"

/* key_file_read(): a file of at most max_bytes.
 *
 * ret_text: free() it; a NUL follows.  Says on stderr what is wrong, and returns an exit code. */
int key_file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_size);

/* key_file_read_private(): a private Ed25519 key in PEM.  As above. */
int key_file_read_private(const char *path, struct ed25519_key *ret_key);

/* key_file_read_public(): a public one, or that of a private one; or a public key of OpenSSH's.
 *
 * ret_ssh_key: its text, free() it; NULL: it is an Ed25519 key in PEM, ret_key.  As above. */
int key_file_read_public(const char *path, struct ed25519_key *ret_key, char **ret_ssh_key);

#endif
