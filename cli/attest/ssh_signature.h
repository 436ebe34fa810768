/*
 * Signatures by SSH keys: OpenSSH's ssh-keygen makes and verifies them (ssh-keygen(1), -Y), in a file
 * FILE.sig beside the file that is signed.  The namespace is `seen-attestation`.
 */
#ifndef SEEN_CLI_SSH_SIGNATURE_H
#define SEEN_CLI_SSH_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

/* ssh_signature_is_key(): is a text a public key of OpenSSH's? */
bool ssh_signature_is_key(const char *text);

/* ssh_signature_make(): signs a file.  An older signature beside it is replaced.
 *
 * key: path of a private key, or of a public one whose private one an agent holds.  ssh-keygen prints
 * what goes wrong, and may ask for a passphrase.  Returns 0; -ENOENT: there is no ssh-keygen;
 * -ECHILD: it failed; other negative errnos. */
int ssh_signature_make(const char *key, const char *file);

/* ssh_signature_verify(): is FILE.sig a signature of these bytes by this key?
 *
 * key: text of a public key.  bytes: what was read of the file, size_bytes long.  Returns 0; -EKEYREJECTED: it is not; -ENOENT: there is no FILE.sig, or no ssh-keygen;
 * other negative errnos. */
int ssh_signature_verify(const char *key, const char *file, const char *bytes, size_t size_bytes);

#endif
