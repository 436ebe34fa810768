/* Files with keys: see key_file.h. */
#include "cli/attest/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attest/ssh_signature.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"

enum { KEY_FILE_BYTES_MAX = 16384 };

/* What a descriptor yields, at most max_bytes: a file, or a pipe.  Returns it, a NUL behind; NULL, with
 * errno. */
static char *read_all(int fd, size_t max_bytes, size_t *ret_size)
{
	size_t size = 0, capacity = 4096;
	char *text = malloc(capacity + 1);

	while (text) {
		ssize_t got = read(fd, text + size, capacity - size);
		if (got == 0)
			break;
		size += got > 0 ? (size_t)got : 0;
		char *more = text;
		if (got < 0 && errno != EINTR) {
			more = NULL;
		} else if (size > max_bytes) {
			errno = EFBIG;
			more = NULL;
		} else if (size == capacity) {
			capacity *= 2;
			more = realloc(text, capacity + 1);
		}
		if (!more)
			free(text);
		text = more;
	}
	if (text)
		text[size] = '\0';
	*ret_size = size;
	return text;
}

int key_file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	*ret_text = fd < 0 ? NULL : read_all(fd, max_bytes, ret_size);
	if (!*ret_text)
		message("%s: %s", path, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return *ret_text ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

static int load(void)
{
	if (ed25519_load() == 0)
		return EXIT_CODE_OK;
	message("Ed25519 keys need the library %s (package libhogweed6)", ed25519_library());
	return EXIT_CODE_PARTLY;
}

int key_file_read_private(const char *path, struct ed25519_key *ret_key)
{
	char *text;
	size_t size;
	int code = load();

	if (code == EXIT_CODE_OK)
		code = key_file_read(path, KEY_FILE_BYTES_MAX, &text, &size);
	if (code != EXIT_CODE_OK)
		return code;
	if (strstr(text, "ENCRYPTED PRIVATE KEY")) {
		message("%s: the key is encrypted; `openssl pkey -in` decrypts it, also into a "
			"pipe: "
			"--key <(openssl pkey -in KEY)",
			path);
		code = EXIT_CODE_USAGE;
	} else if (ed25519_parse(text, size, ret_key) < 0 || !ret_key->has_private) {
		message("%s: there is no private Ed25519 key in PEM in it; `openssl genpkey "
			"-algorithm ed25519` makes one",
			path);
		code = EXIT_CODE_USAGE;
	}
	explicit_bzero(text, size);
	free(text);
	return code;
}

int key_file_read_public(const char *path, struct ed25519_key *ret_key, char **ret_ssh_key)
{
	char *text;
	size_t size;
	int code = key_file_read(path, KEY_FILE_BYTES_MAX, &text, &size);

	*ret_ssh_key = NULL;
	if (code != EXIT_CODE_OK)
		return code;
	if (ssh_signature_is_key(text)) {
		*ret_ssh_key = text;
		return EXIT_CODE_OK;
	}
	code = load();
	if (code == EXIT_CODE_OK && ed25519_parse(text, size, ret_key) < 0) {
		message("%s: there is no Ed25519 key in PEM in it, nor a public key of OpenSSH's; "
			"`openssl pkey -in KEY -pubout` writes that of a private one",
			path);
		code = EXIT_CODE_USAGE;
	}
	explicit_bzero(text, size);
	free(text);
	return code;
}
