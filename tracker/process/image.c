/* Images: see image.h. */
#include "tracker/process/image.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

enum {
	PROGRAM_HEADERS_MAX = 64,
	DYNAMIC_ENTRIES_MAX = 64, /* DT_NEEDED come first, DT_STRTAB is behind about 12 others */
	NAME_BYTES = 64,
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

/* The offset in the file of what is loaded at an address; false where nothing is. */
static bool offset_of(const Elf64_Phdr *headers, size_t count, uint64_t address,
		      uint64_t *ret_offset)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *header = &headers[i];
		if (header->p_type == PT_LOAD && address >= header->p_vaddr &&
		    address - header->p_vaddr < header->p_filesz) {
			*ret_offset = header->p_offset + (address - header->p_vaddr);
			return true;
		}
	}
	return false;
}

bool image_loads_sanitizer_first(int fd, const char *head, size_t length)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;
	Elf64_Phdr others[PROGRAM_HEADERS_MAX];
	Elf64_Dyn dynamic[DYNAMIC_ENTRIES_MAX];
	const Elf64_Dyn *needed = NULL, *names = NULL;
	char name[NAME_BYTES];
	uint64_t offset;

	if (length < sizeof(*elf) || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phnum > PROGRAM_HEADERS_MAX)
		return false;
	size_t count = elf->e_phnum, bytes = count * sizeof(Elf64_Phdr);
	const Elf64_Phdr *headers = others;
	if (elf->e_phoff % _Alignof(Elf64_Phdr) == 0 && elf->e_phoff <= length &&
	    bytes <= length - elf->e_phoff)
		headers = (const Elf64_Phdr *)(const void *)(head + elf->e_phoff);
	else if (sys_pread(fd, others, bytes, (off_t)elf->e_phoff) != (ssize_t)bytes)
		return false;
	const Elf64_Phdr *section = headers, *end = headers + count;
	while (section < end && section->p_type != PT_DYNAMIC)
		section++;
	if (section == end)
		return false;
	bytes = section->p_filesz < sizeof(dynamic) ? section->p_filesz : sizeof(dynamic);
	ssize_t got = sys_pread(fd, dynamic, bytes, (off_t)section->p_offset);
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(dynamic[0]); i++) {
		if (dynamic[i].d_tag == DT_NULL)
			break;
		if (dynamic[i].d_tag == DT_NEEDED && !needed)
			needed = &dynamic[i];
		else if (dynamic[i].d_tag == DT_STRTAB)
			names = &dynamic[i];
	}
	if (!needed || !names ||
	    !offset_of(headers, count, names->d_un.d_ptr + needed->d_un.d_val, &offset))
		return false;
	got = sys_pread(fd, name, sizeof(name), (off_t)offset);
	return got > 0 && image_is_address_sanitizer(name, strnlen(name, (size_t)got));
}
