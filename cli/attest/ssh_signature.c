/* Signatures by SSH keys: see ssh_signature.h. */
#include "cli/attest/ssh_signature.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACE "seen-attestation"
#define SIGNER "signer" /* the name that the key has for ssh-keygen */

enum { NOT_FOUND = 127 };

bool ssh_signature_is_key(const char *text)
{
	static const char *const KINDS[] = { "ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-" };

	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (strncmp(text, KINDS[i], strlen(KINDS[i])) == 0)
			return true;
	return false;
}

/* Runs ssh-keygen.  input: becomes its standard input; -1: it has ours.  is_quiet: what it prints is
 * dropped. */
static int run(const char *const *words, int input, bool is_quiet)
{
	int status = 0, null = is_quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
	pid_t child = null < 0 ? -1 : fork();

	if (child == 0) {
		if ((input < 0 || dup2(input, STDIN_FILENO) >= 0) &&
		    dup2(null, STDOUT_FILENO) >= 0 && (!is_quiet || dup2(null, STDERR_FILENO) >= 0))
			(void)execvp(words[0], (char *const *)(uintptr_t)words);
		_exit(NOT_FOUND);
	}
	int error = child < 0 ? -errno : 0;
	if (is_quiet && null >= 0)
		(void)close(null);
	while (error == 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			error = -errno;
	if (error < 0)
		return error;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return -ENOENT;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static int signature_path(const char *file, char *ret_path)
{
	return snprintf(ret_path, PATH_MAX, "%s.sig", file) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int ssh_signature_make(const char *key, const char *file)
{
	char path[PATH_MAX];
	const char *words[] = { "ssh-keygen", "-q", "-Y",      "sign", "-f",
				key,          "-n", NAMESPACE, file,   NULL };
	int error = signature_path(file, path);

	if (error < 0)
		return error;
	/* It asks before it writes over a file. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return run(words, -1, false);
}

/* A file that only this process and its child can read, and no program changes.  Returns a descriptor at its
 * beginning. */
static int memory_file(const char *bytes, size_t size_bytes)
{
	int fd = memfd_create("seen", 0);
	size_t written = 0;

	while (fd >= 0 && written < size_bytes) {
		ssize_t got = write(fd, bytes + written, size_bytes - written);
		if (got < 0 && errno != EINTR) {
			(void)close(fd);
			return -EIO;
		}
		written += got > 0 ? (size_t)got : 0;
	}
	return fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd;
}

/* The file of those who may sign. */
static int signers(const char *key)
{
	char *text = NULL;
	int length = asprintf(&text, "%s %.*s\n", SIGNER, (int)strcspn(key, "\r\n"), key);
	int fd = length < 0 ? -ENOMEM : memory_file(text, (size_t)length);

	free(length < 0 ? NULL : text);
	return fd;
}

int ssh_signature_verify(const char *key, const char *file, const char *bytes, size_t size_bytes)
{
	char path[PATH_MAX], signers_path[32];
	int error = signature_path(file, path);
	int input = error < 0 ? error : memory_file(bytes, size_bytes);
	int fd = input < 0 ? input : signers(key);

	if (fd < 0) {
		if (input >= 0)
			(void)close(input);
		return fd;
	}
	(void)snprintf(signers_path, sizeof(signers_path), "/dev/fd/%d", fd);
	const char *words[] = { "ssh-keygen", "-q", "-Y",      "verify", "-f", signers_path, "-I",
				SIGNER,       "-n", NAMESPACE, "-s",     path, NULL };
	error = access(path, R_OK) < 0 ? -errno : run(words, input, true);
	(void)close(fd);
	(void)close(input);
	return error == -ECHILD ? -EKEYREJECTED : error;
}
