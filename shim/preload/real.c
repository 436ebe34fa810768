/* libc's own functions: see real.h. */
#include "shim/preload/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "tracker/sys/sys.h"

void *real_pointers[REAL_COUNT];
void *real_vfork;

/* No relocations: names side by side, not pointers to them. */
enum { NAME_BYTES = 40 };
static const char NAMES[REAL_COUNT][NAME_BYTES] = {
#define HOOK(name, operation) #name,
#include "shim/preload/hooks.def"
#undef HOOK
	"fileno",
	"dirfd",
};
#define HOOK(name, operation) \
	_Static_assert(sizeof(#name) <= NAME_BYTES, "the name and its NUL fit");
#include "shim/preload/hooks.def"
#undef HOOK

static long is_missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* ---- the loader's list ---- */

/* What the loader tells debuggers (link.h).  Weak: to depend on libc alone, and not there in a musl
 * program. */
extern struct r_debug _r_debug __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The kernel's own object, which is on the list, and in which nothing is looked for by name but its
 * clock. */
static bool is_kernels(const struct link_map *object)
{
	return strncmp(object->l_name, "linux-vdso", 10) == 0;
}

/* The objects that were loaded when this library started, from the one behind it to the last.  They, and
 * those before it, stay for as long as the process lives, and so do the links between them; what
 * dlopen() adds comes behind the last one, and is not inspected, as dlsym(RTLD_NEXT) would not have
 * found it at the start. */
static struct link_map *own_object, *last_object;

static struct link_map *find_object(void)
{
	struct link_map *object = __atomic_load_n(&own_object, __ATOMIC_ACQUIRE);

	if (object || !&_r_debug)
		return object;
	for (object = _r_debug.r_map; object && object->l_ld != _DYNAMIC; object = object->l_next)
		;
	if (!object)
		return NULL;
	struct link_map *last = object;
	while (last->l_next)
		last = last->l_next;
	__atomic_store_n(&last_object, last, __ATOMIC_RELAXED);
	__atomic_store_n(&own_object, object, __ATOMIC_RELEASE);
	return object;
}

const char *real_library(void)
{
	const struct link_map *object = find_object();
	return object ? object->l_name : NULL;
}

const struct link_map *real_object_below(uint64_t address)
{
	const struct link_map *nearest = NULL, *last;

	if (!find_object())
		return NULL;
	last = __atomic_load_n(&last_object, __ATOMIC_RELAXED);
	for (const struct link_map *object = _r_debug.r_map;; object = object->l_next) {
		if (object->l_addr && object->l_addr <= address &&
		    (!nearest || object->l_addr > nearest->l_addr))
			nearest = object;
		if (object == last)
			return nearest;
	}
}

/* ---- names in an object: the System V ABI, dynamic linking; its GNU hash table ---- */

/* What an object exports, by one of two tables. */
struct exports {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Half) * versions; /* NULL: it has none */
	const uint32_t *gnu_hash;
	const uint32_t *hash;
};

static bool exports_of(const struct link_map *object, struct exports *ret_exports)
{
	struct exports exports = { 0 };

	for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		uintptr_t address = entry->d_un.d_ptr;
		/* glibc makes them addresses where the section can be written to */
		if (address < object->l_addr)
			address += object->l_addr;
		const void *at = (const void *)address;
		switch (entry->d_tag) {
		case DT_SYMTAB:
			exports.symbols = at;
			break;
		case DT_STRTAB:
			exports.strings = at;
			break;
		case DT_VERSYM:
			exports.versions = at;
			break;
		case DT_GNU_HASH:
			exports.gnu_hash = at;
			break;
		case DT_HASH:
			exports.hash = at;
			break;
		default:
			break;
		}
	}
	*ret_exports = exports;
	return exports.symbols && exports.strings && (exports.gnu_hash || exports.hash);
}

/* Would dlsym() take this one?  A name without a version means its default one: not a hidden
 * one. */
static bool is_taken(const struct exports *exports, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &exports->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
	unsigned version = exports->versions ? exports->versions[index] : 0;

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       (type <= STT_FUNC || type == STT_GNU_IFUNC) && bind != STB_LOCAL &&
	       ELF64_ST_VISIBILITY(symbol->st_other) != STV_HIDDEN &&
	       ELF64_ST_VISIBILITY(symbol->st_other) != STV_INTERNAL &&
	       ((version & 0x7fff) < 2 || !(version & 0x8000)) &&
	       strcmp(exports->strings + symbol->st_name, name) == 0;
}

static const ElfW(Sym) * find_by_gnu_hash(const struct exports *exports, const char *name)
{
	uint32_t hash = 5381;
	for (const char *at = name; *at; at++)
		hash = hash * 33 + (unsigned char)*at;

	const uint32_t *table = exports->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1], bloom_words = table[2];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(table + 4);
	const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + bloom_words);
	const uint32_t *chain = buckets + bucket_count;
	ElfW(Addr) word = bloom[hash / 64 & (bloom_words - 1)];

	if (!(word >> (hash & 63) & word >> (hash >> table[3] & 63) & 1))
		return NULL;
	uint32_t index = buckets[hash % bucket_count];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t at = chain[index - first];
		if ((at | 1) == (hash | 1) && is_taken(exports, index, name))
			return &exports->symbols[index];
		if (at & 1)
			return NULL;
	}
}

static const ElfW(Sym) * find_by_hash(const struct exports *exports, const char *name)
{
	const uint32_t *table = exports->hash;
	const uint32_t *buckets = table + 2, *chain = buckets + table[0];
	uint32_t hash = 0;

	for (const char *at = name; *at; at++) {
		hash = (hash << 4) + (unsigned char)*at;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t index = buckets[hash % table[0]]; index != 0; index = chain[index])
		if (is_taken(exports, index, name))
			return &exports->symbols[index];
	return NULL;
}

static const ElfW(Sym) * find(const struct exports *exports, const char *name)
{
	return exports->gnu_hash ? find_by_gnu_hash(exports, name) : find_by_hash(exports, name);
}

/* Before 2.34 glibc has it in a library of its own, which is not to be loaded into each program for this: weak. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

static void *dlsym_next(const char *name)
{
	return dlsym ? dlsym(RTLD_NEXT, name) : NULL;
}

/* What dlsym(RTLD_NEXT) finds, without the loader's lock, and without an error for dlerror(). */
static void *next_of(const char *name)
{
	const struct link_map *object = find_object();

	if (!object)
		return dlsym_next(name); /* musl's loader takes a lock, and that is all there is */
	const struct link_map *last = __atomic_load_n(&last_object, __ATOMIC_RELAXED);
	while (object != last) {
		struct exports exports;
		object = object->l_next;
		if (is_kernels(object) || !exports_of(object, &exports))
			continue;
		const ElfW(Sym) *symbol = find(&exports, name);
		if (!symbol)
			continue;
		if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
			return dlsym_next(name); /* chosen by the processor: none of libc's is */
		uintptr_t base = symbol->st_shndx == SHN_ABS ? 0 : object->l_addr;
		return (void *)(base + symbol->st_value);
	}
	return NULL;
}

void *real_resolve(enum real_name name)
{
	int saved_errno = errno;
	void *pointer = next_of(NAMES[name]);
	errno = saved_errno;
	if (!pointer)
		pointer = (void *)is_missing;
	__atomic_store_n(&real_pointers[name], pointer, __ATOMIC_RELAXED);
	return pointer;
}

void *real_resolve_vfork(void)
{
	void *pointer = real_pointer(REAL_vfork);
	__atomic_store_n(&real_vfork, pointer, __ATOMIC_RELAXED);
	return pointer;
}

/* The kernel's clock without libc around it, whose page need not be touched then.  NULL: it has
 * none, or it is hidden (Valgrind). */
static void *kernels_clock(void)
{
#if defined(__x86_64__)
	static const char NAME[] = "__vdso_clock_gettime";
#else
	static const char NAME[] = "__kernel_clock_gettime";
#endif
	struct exports exports;

	for (const struct link_map *at = &_r_debug ? _r_debug.r_map : NULL; at; at = at->l_next) {
		if (!is_kernels(at))
			continue;
		const ElfW(Sym) *symbol = exports_of(at, &exports) ? find(&exports, NAME) : NULL;
		return symbol ? (void *)(at->l_addr + symbol->st_value) : NULL;
	}
	return NULL;
}

void real_start(void)
{
	/* Written to before it is read: one page fault instead of two.  It stays what it is: another library's constructor may
	 * have called a wrapper before. */
	struct link_map *none = NULL;
	(void)__atomic_compare_exchange_n(&last_object, &none, NULL, false, __ATOMIC_RELAXED,
					  __ATOMIC_RELAXED);
	(void)find_object();
	/* A program may have a function of that name itself. */
	void *pointer = kernels_clock();
	if (!pointer)
		pointer = next_of("clock_gettime");
	if (pointer)
		sys_clock_gettime = (__typeof__(sys_clock_gettime))pointer;
}
