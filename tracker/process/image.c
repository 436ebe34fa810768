/* Images: see image.h. */
#include "tracker/process/image.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

/* Some of a table at once: the stack may be a signal handler's. */
enum {
	PROGRAM_HEADERS_MAX = 64,
	DYNAMIC_ENTRIES_MAX = 64, /* DT_NEEDED come first, DT_STRTAB is behind about 12 others */
	DYNAMIC_AT_ONCE = 16,
	NAME_BYTES = 64,
	SECTIONS_AT_ONCE = 8,
	SECTIONS_MAX = 512,
	SECTION_NAMES_BYTES = 512, /* of their names, where all are as short */
	SECTION_NAME_BYTES = 24,
};

bool image_is_address_sanitizer(const char *name, size_t bytes)
{
	static const char *const BEGINNINGS[] = { "libasan.so", "libhwasan.so", "libclang_rt.asan",
						  "libclang_rt.hwasan" };

	for (size_t at = bytes; at > 0; at--)
		if (name[at - 1] == '/') {
			name += at;
			bytes -= at;
			break;
		}
	for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
		size_t length = strlen(BEGINNINGS[i]);
		if (bytes >= length && memcmp(name, BEGINNINGS[i], length) == 0)
			return true;
	}
	return false;
}

bool image_is_race_detector(const char *path)
{
	const char *name = path_base(path);

	return strncmp(name, "helgrind-", 9) == 0 || strncmp(name, "drd-", 4) == 0;
}

const char *image_find_sanitizer(const char *value)
{
	for (const char *at = value; *at;) {
		size_t word = strcspn(at, ": ");
		if (image_is_address_sanitizer(at, word))
			return at;
		at += word;
		at += strspn(at, ": ");
	}
	return NULL;
}

static bool read_whole(int fd, void *ret_bytes, size_t bytes, uint64_t offset)
{
	return offset <= INT64_MAX &&
	       sys_pread(fd, ret_bytes, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* Reads a program header: from the file's head where that holds it. */
static bool read_header(int fd, const char *head, size_t length, size_t number,
			Elf64_Phdr *ret_header)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;
	uint64_t at = elf->e_phoff + number * sizeof(*ret_header);

	if (at > length || sizeof(*ret_header) > length - at)
		return read_whole(fd, ret_header, sizeof(*ret_header), at);
	memcpy(ret_header, head + at, sizeof(*ret_header));
	return true;
}

/* Finds the program header of a type, and where that is PT_LOAD, the one that loads the address. */
static bool find_header(int fd, const char *head, size_t length, uint32_t type, uint64_t address,
			Elf64_Phdr *ret_header)
{
	size_t count = ((const Elf64_Ehdr *)(const void *)head)->e_phnum;

	for (size_t i = 0; i < count && read_header(fd, head, length, i, ret_header); i++)
		if (ret_header->p_type == type &&
		    (type != PT_LOAD || (address >= ret_header->p_vaddr &&
					 address - ret_header->p_vaddr < ret_header->p_filesz)))
			return true;
	return false;
}

/* The address of the name of the first library that the dynamic section asks for. */
static bool find_first_needed(int fd, const Elf64_Phdr *section, uint64_t *ret_address)
{
	Elf64_Dyn entries[DYNAMIC_AT_ONCE];
	size_t count = section->p_filesz / sizeof(entries[0]);
	uint64_t names = 0, needed = 0;
	bool has_needed = false;

	count = count < DYNAMIC_ENTRIES_MAX ? count : DYNAMIC_ENTRIES_MAX;
	for (size_t i = 0; i < count; i++) {
		size_t at = i % DYNAMIC_AT_ONCE, more = count - i;
		more = more < DYNAMIC_AT_ONCE ? more : DYNAMIC_AT_ONCE;
		if (at == 0 && !read_whole(fd, entries, more * sizeof(entries[0]),
					   section->p_offset + i * sizeof(entries[0])))
			return false;
		if (entries[at].d_tag == DT_NULL)
			break;
		if (entries[at].d_tag == DT_NEEDED && !has_needed) {
			needed = entries[at].d_un.d_val;
			has_needed = true;
		} else if (entries[at].d_tag == DT_STRTAB) {
			names = entries[at].d_un.d_ptr;
		}
	}
	*ret_address = names + needed;
	return has_needed && names;
}

bool image_loads_sanitizer_first(int fd, const char *head, size_t length)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;
	char name[NAME_BYTES];
	Elf64_Phdr header;
	uint64_t address;

	if (length < sizeof(*elf) || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phnum > PROGRAM_HEADERS_MAX ||
	    !find_header(fd, head, length, PT_DYNAMIC, 0, &header) ||
	    !find_first_needed(fd, &header, &address) ||
	    !find_header(fd, head, length, PT_LOAD, address, &header))
		return false;
	ssize_t got = sys_pread(fd, name, sizeof(name),
				(off_t)(header.p_offset + (address - header.p_vaddr)));
	return got > 0 && image_is_address_sanitizer(name, strnlen(name, (size_t)got));
}

const char *image_phrase(enum image_kind kind)
{
	switch (kind) {
	case IMAGE_UNKNOWN:
	case IMAGE_PRELOADABLE:
	case IMAGE_KINDS:
		return NULL;
	case IMAGE_STATIC:
		return "static";
	case IMAGE_MUSL:
		return "linked with musl";
	case IMAGE_OTHER_LIBC:
		return "not linked with glibc";
	case IMAGE_GO:
		return "built with Go";
	case IMAGE_BUN:
		return "built with Bun";
	case IMAGE_SANITIZED:
		return "built with AddressSanitizer";
	case IMAGE_DETECTOR:
		return "a detector of data races";
	case IMAGE_FOREIGN:
		return "for another architecture";
	}
	return NULL;
}

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static enum image_kind kind_of_section(const char *name)
{
	if (strcmp(name, ".bun") == 0)
		return IMAGE_BUN;
	if (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0)
		return IMAGE_GO;
	return IMAGE_PRELOADABLE;
}

/* The sections' names show a run time that makes system calls of its own. */
__attribute__((noinline)) static enum image_kind kind_of_sections(int fd, const Elf64_Ehdr *elf)
{
	Elf64_Shdr sections[SECTIONS_AT_ONCE], names;
	char texts[SECTION_NAMES_BYTES + 1], text[SECTION_NAME_BYTES + 1];
	enum image_kind kind = IMAGE_PRELOADABLE;
	size_t count = elf->e_shnum < SECTIONS_MAX ? elf->e_shnum : SECTIONS_MAX;

	if (!elf->e_shoff || elf->e_shentsize != sizeof(names) || elf->e_shstrndx >= elf->e_shnum ||
	    !read_whole(fd, &names, sizeof(names),
			elf->e_shoff + (uint64_t)elf->e_shstrndx * sizeof(names)))
		return kind;
	bool has_texts = names.sh_size <= SECTION_NAMES_BYTES;
	if (has_texts && !read_whole(fd, texts, names.sh_size, names.sh_offset))
		return kind;
	texts[has_texts ? names.sh_size : 0] = '\0';
	for (size_t i = 0; i < count && kind == IMAGE_PRELOADABLE; i++) {
		size_t at = i % SECTIONS_AT_ONCE, more = count - i;
		more = more < SECTIONS_AT_ONCE ? more : SECTIONS_AT_ONCE;
		if (at == 0 && !read_whole(fd, sections, more * sizeof(sections[0]),
					   elf->e_shoff + i * sizeof(sections[0])))
			break;
		if (sections[at].sh_name >= names.sh_size)
			continue;
		if (has_texts) {
			kind = kind_of_section(texts + sections[at].sh_name);
			continue;
		}
		ssize_t got = sys_pread(fd, text, SECTION_NAME_BYTES,
					(off_t)(names.sh_offset + sections[at].sh_name));
		text[got > 0 ? got : 0] = '\0';
		kind = kind_of_section(text);
	}
	return kind;
}

/* Programs made by older `bun build --compile` have no section; they end in a mark, then 8
 * bytes. */
static bool is_bun(int fd, const char *path, uint64_t size_bytes)
{
	static const char MARK[] = "\n---- Bun! ----\n";
	char rest[64];

	if (strcmp(path_base(path), "bun") == 0)
		return true;
	if (size_bytes < sizeof(rest) ||
	    !read_whole(fd, rest, sizeof(rest), size_bytes - sizeof(rest)))
		return false;
	for (size_t i = 0; i + sizeof(MARK) - 1 <= sizeof(rest); i++)
		if (memcmp(rest + i, MARK, sizeof(MARK) - 1) == 0)
			return true;
	return false;
}

static enum image_kind kind_of_loader(int fd, const Elf64_Phdr *header)
{
	char loader[256];
	size_t bytes = header->p_filesz < sizeof(loader) ? header->p_filesz : sizeof(loader) - 1;

	if (!read_whole(fd, loader, bytes, header->p_offset))
		return IMAGE_UNKNOWN;
	loader[bytes] = '\0';
	const char *name = path_base(loader);
	if (begins_with(name, "ld-musl"))
		return IMAGE_MUSL;
	return begins_with(name, "ld-linux") || begins_with(name, "ld64.") ||
			       strcmp(name, "ld.so.1") == 0
		       ? IMAGE_PRELOADABLE
		       : IMAGE_OTHER_LIBC;
}

/* Programs without a loader that load the library into what they run: glibc's loader, and
 * valgrind. */
static enum image_kind kind_without_loader(const char *path)
{
	const char *name = path_base(path);

	if (image_is_race_detector(path))
		return IMAGE_DETECTOR;
	return begins_with(name, "ld-linux") || begins_with(name, "ld.so") ||
			       strstr(path, "/valgrind/")
		       ? IMAGE_PRELOADABLE
		       : IMAGE_STATIC;
}

/* What the program headers of a file of this machine show: IMAGE_STATIC where there is no loader,
 * IMAGE_UNKNOWN where the kernel does not run it. */
static enum image_kind kind_of_headers(int fd, uint64_t size_bytes, const char *head, size_t length)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;
	enum image_kind kind = IMAGE_STATIC;
	bool has_code = false;
	Elf64_Phdr header;

	for (size_t i = 0; i < elf->e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
		if (!read_header(fd, head, length, i, &header))
			return IMAGE_UNKNOWN;
		if (header.p_type == PT_INTERP && kind == IMAGE_STATIC)
			kind = kind_of_loader(fd, &header);
		if (header.p_type != PT_LOAD)
			continue;
		has_code = true;
		if (header.p_offset > size_bytes || header.p_filesz > size_bytes - header.p_offset)
			return IMAGE_UNKNOWN;
	}
	return has_code ? kind : IMAGE_UNKNOWN;
}

enum image_kind image_classify(int fd, const char *path, uint64_t size_bytes, const char *head,
			       size_t length)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;

	if (length < sizeof(Elf32_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0 ||
	    (elf->e_type != ET_EXEC && elf->e_type != ET_DYN))
		return IMAGE_UNKNOWN;
	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != IMAGE_OWN_MACHINE)
		return IMAGE_FOREIGN;
	if (length < sizeof(*elf) || elf->e_phentsize != sizeof(Elf64_Phdr) || !elf->e_entry)
		return IMAGE_UNKNOWN;
	enum image_kind kind = kind_of_headers(fd, size_bytes, head, length);
	if (kind == IMAGE_STATIC)
		return kind_without_loader(path);
	if (kind != IMAGE_PRELOADABLE)
		return kind;
	if (image_loads_sanitizer_first(fd, head, length))
		return IMAGE_SANITIZED;
	kind = kind_of_sections(fd, elf);
	return kind == IMAGE_PRELOADABLE && is_bun(fd, path, size_bytes) ? IMAGE_BUN : kind;
}

bool image_gains_privileges(int fd, const struct stat *stat)
{
	return (stat->st_mode & S_ISUID) ||
	       (stat->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ||
	       sys_call6(SYS_fgetxattr, fd, (long)"security.capability", 0, 0, 0, 0) > 0;
}
