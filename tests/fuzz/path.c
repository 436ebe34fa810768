/* Paths: normal ones stay; the kernel finds the same file by both where no name is a link. */
#include "fuzz_harness.h"

#include <limits.h>

#include "tracker/path/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), path[PATH_MAX], again[PATH_MAX], shown[4 * PATH_MAX];
	int length = path_normalize("/top/d", text, path, sizeof(path));

	if (length >= 0) {
		fuzz_holds(path[0] == '/' && strlen(path) == (size_t)length);
		fuzz_holds(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
		fuzz_holds(length == 1 || path[length - 1] != '/');
		fuzz_holds(path_normalize(NULL, path, again, sizeof(again)) == length &&
			   !strcmp(path, again));
	}
	int escaped = path_escape(text, shown, sizeof(shown));
	for (int i = 0; i < escaped; i++)
		fuzz_holds((unsigned char)shown[i] >= ' ' && shown[i] != 0x7f);
	int fd;
	(void)path_behind_descriptor(text, 77, &fd);
	(void)path_behind_directory(text, 77);
	free(text);
	return 0;
}
