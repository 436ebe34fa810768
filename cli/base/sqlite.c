/* SQLite: see sqlite.h. */
#include "cli/base/sqlite.h"

#include <dlfcn.h>
#include <stddef.h>

const struct sqlite *sqlite_load(void)
{
	static struct sqlite sqlite;
	static const struct sqlite *loaded;
	void *handle = loaded ? NULL : dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return loaded;
#define SQLITE_MEMBER(name) \
	if (!(sqlite.name = (__typeof__(sqlite.name))dlsym(handle, "sqlite3_" #name))) \
		return NULL;
	SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
	return loaded = &sqlite;
}
