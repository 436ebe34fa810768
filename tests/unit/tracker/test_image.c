/* tracker/process/image.h: what a program file is, told by files that are made for it. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tracker/process/image.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, OTHER_MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_AARCH64, OTHER_MACHINE = EM_X86_64 };
#endif

enum {
	FILE_BYTES = 4096,
	LOADER_AT = 512,
	SECTIONS_AT = 1024,
	NAMES_AT = 2048,
	LIBRARIES_AT = 2560,
	DYNAMIC_AT = 2816,
	STACK_BYTES = 1 << 16,
	UNTOUCHED = 0x5a,
};

/* A program file, and what is usual in it. */
struct made {
	_Alignas(8) char bytes[FILE_BYTES];
	Elf64_Ehdr *elf;
	Elf64_Phdr *headers;
};

static void make(struct made *made, const char *loader)
{
	memset(made->bytes, 0, sizeof(made->bytes));
	made->elf = (Elf64_Ehdr *)(void *)made->bytes;
	made->headers = (Elf64_Phdr *)(void *)(made->bytes + sizeof(Elf64_Ehdr));
	memcpy(made->elf->e_ident, ELFMAG, SELFMAG);
	made->elf->e_ident[EI_CLASS] = ELFCLASS64;
	made->elf->e_type = ET_DYN;
	made->elf->e_machine = MACHINE;
	made->elf->e_entry = 0x100;
	made->elf->e_phoff = sizeof(Elf64_Ehdr);
	made->elf->e_phentsize = sizeof(Elf64_Phdr);
	made->elf->e_phnum = loader ? 2 : 1;
	made->headers[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = FILE_BYTES };
	if (!loader)
		return;
	made->headers[1] = (Elf64_Phdr){ .p_type = PT_INTERP,
					 .p_offset = LOADER_AT,
					 .p_filesz = strlen(loader) + 1 };
	memcpy(made->bytes + LOADER_AT, loader, strlen(loader) + 1);
}

/* One section of that name, behind `before` without names and the one that holds the names. */
static void add_section(struct made *made, const char *name, unsigned before)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(made->bytes + SECTIONS_AT);

	made->elf->e_shoff = SECTIONS_AT;
	made->elf->e_shentsize = sizeof(Elf64_Shdr);
	made->elf->e_shnum = (Elf64_Half)(before + 2);
	made->elf->e_shstrndx = 0;
	sections[0] = (Elf64_Shdr){ .sh_offset = NAMES_AT, .sh_size = 1 + strlen(name) + 1 };
	sections[before + 1].sh_name = 1;
	memcpy(made->bytes + NAMES_AT + 1, name, strlen(name) + 1);
}

/* The first library that it needs, behind `before` other entries of the dynamic section. */
static void add_library(struct made *made, const char *name, unsigned before)
{
	Elf64_Dyn *entries = (Elf64_Dyn *)(void *)(made->bytes + DYNAMIC_AT);

	made->elf->e_phnum = 3;
	made->headers[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					 .p_offset = DYNAMIC_AT,
					 .p_filesz = (before + 3) * sizeof(*entries) };
	for (unsigned i = 0; i < before; i++)
		entries[i] = (Elf64_Dyn){ .d_tag = DT_DEBUG };
	entries[before] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 1 };
	entries[before + 1] = (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = LIBRARIES_AT };
	entries[before + 2] = (Elf64_Dyn){ .d_tag = DT_NULL };
	memcpy(made->bytes + LIBRARIES_AT + 1, name, strlen(name) + 1);
}

/* head: how much of the file is handed over. */
static enum image_kind classify_head(const struct made *made, const char *path, size_t bytes,
				     size_t head)
{
	int fd = memfd_create("image", 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, made->bytes, bytes), (ssize_t)bytes);
	enum image_kind kind = image_classify(fd, path, bytes, made->bytes, head);
	(void)close(fd);
	return kind;
}

static enum image_kind classify(const struct made *made, const char *path)
{
	return classify_head(made, path, FILE_BYTES, 1024);
}

Test(image, loaders)
{
	static const struct {
		const char *loader;
		enum image_kind kind;
	} CASES[] = {
		{ NULL, IMAGE_STATIC },
		{ "/lib64/ld-linux-x86-64.so.2", IMAGE_PRELOADABLE },
		{ "/nix/store/x-glibc/lib/ld-linux-aarch64.so.1", IMAGE_PRELOADABLE },
		{ "/lib/ld-musl-x86_64.so.1", IMAGE_MUSL },
		{ "/system/bin/linker64", IMAGE_OTHER_LIBC },
	};
	struct made made;

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		make(&made, CASES[i].loader);
		cr_assert_eq(classify(&made, "/bin/x"), CASES[i].kind, "case %zu", i);
		/* headers that are read by themselves */
		cr_assert_eq(classify_head(&made, "/bin/x", FILE_BYTES, sizeof(Elf64_Ehdr)),
			     CASES[i].kind, "case %zu", i);
	}
}

Test(image, run_times)
{
	struct made made;

	for (unsigned before = 0; before < 14; before++) {
		make(&made, "/lib64/ld-linux-x86-64.so.2");
		add_section(&made, ".go.buildinfo", before);
		cr_assert_eq(classify(&made, "/bin/x"), IMAGE_GO);
		add_section(&made, ".bun", before);
		cr_assert_eq(classify(&made, "/bin/x"), IMAGE_BUN);
		add_section(&made, ".text", before);
		cr_assert_eq(classify(&made, "/bin/x"), IMAGE_PRELOADABLE);
	}
	cr_assert_eq(classify(&made, "/opt/bin/bun"), IMAGE_BUN);
	static const char END[] = "\n---- Bun! ----\n12345678";
	memcpy(made.bytes + FILE_BYTES - (sizeof(END) - 1), END, sizeof(END) - 1);
	cr_assert_eq(classify(&made, "/bin/x"), IMAGE_BUN);
}

Test(image, a_sanitizer_that_must_be_first)
{
	struct made made;

	for (unsigned before = 0; before < 40; before++) {
		make(&made, "/lib64/ld-linux-x86-64.so.2");
		add_library(&made, "libasan.so.8", before);
		cr_assert_eq(classify(&made, "/bin/x"), IMAGE_SANITIZED, "%u", before);
		cr_assert_eq(classify_head(&made, "/bin/x", FILE_BYTES, sizeof(Elf64_Ehdr)),
			     IMAGE_SANITIZED, "%u", before);
		add_library(&made, "libc.so.6", before);
		cr_assert_eq(classify(&made, "/bin/x"), IMAGE_PRELOADABLE, "%u", before);
	}
	add_library(&made, "libasan.so.8", 64); /* more is not read */
	cr_assert_eq(classify(&made, "/bin/x"), IMAGE_PRELOADABLE);
}

static struct made on_stack;
static enum image_kind found_on_stack;

static void classify_on_stack(void)
{
	found_on_stack = classify_head(&on_stack, "/bin/x", FILE_BYTES, sizeof(Elf64_Ehdr));
}

/* A program may be started by a signal handler. */
Test(image, needs_little_of_the_stack)
{
#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("AddressSanitizer takes more");
#endif
	static char stack[STACK_BYTES];
	static ucontext_t own, other;
	size_t free_bytes = 0;

	make(&on_stack, "/lib64/ld-linux-x86-64.so.2");
	add_library(&on_stack, "libc.so.6", 30);
	add_section(&on_stack, ".bun", 12);
	classify_on_stack(); /* names that the loader has not looked for yet take more */
	memset(stack, UNTOUCHED, sizeof(stack));
	cr_assert_eq(getcontext(&other), 0);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	other.uc_link = &own;
	makecontext(&other, classify_on_stack, 0);
	cr_assert_eq(swapcontext(&own, &other), 0);
	cr_assert_eq(found_on_stack, IMAGE_BUN);
	while (free_bytes < sizeof(stack) && stack[free_bytes] == UNTOUCHED)
		free_bytes++;
	cr_assert_leq(sizeof(stack) - free_bytes, 3072);
}

Test(image, static_programs_that_load_the_library)
{
	struct made made;

	make(&made, NULL);
	cr_assert_eq(classify(&made, "/lib64/ld-linux-x86-64.so.2"), IMAGE_PRELOADABLE);
	cr_assert_eq(classify(&made, "/usr/libexec/valgrind/memcheck-amd64-linux"),
		     IMAGE_PRELOADABLE);
	cr_assert_eq(classify(&made, "/usr/libexec/valgrind/helgrind-amd64-linux"), IMAGE_DETECTOR);
}

Test(image, what_the_kernel_does_not_run)
{
	struct made made;

	make(&made, NULL);
	cr_assert_eq(classify_head(&made, "x", FILE_BYTES - 1, 1024), IMAGE_UNKNOWN, "cut");
	cr_assert_eq(classify_head(&made, "x", 20, 20), IMAGE_UNKNOWN);
	cr_assert_eq(classify_head(&made, "x", 60, 60), IMAGE_UNKNOWN);
	made.elf->e_entry = 0;
	cr_assert_eq(classify(&made, "x"), IMAGE_UNKNOWN, "a library");
	make(&made, NULL);
	made.elf->e_type = ET_REL;
	cr_assert_eq(classify(&made, "x"), IMAGE_UNKNOWN, "an object file");
	make(&made, NULL);
	made.elf->e_phoff = UINT64_MAX - 8;
	cr_assert_eq(classify(&made, "x"), IMAGE_UNKNOWN);
	make(&made, NULL);
	made.headers[0].p_type = PT_NOTE;
	cr_assert_eq(classify(&made, "x"), IMAGE_UNKNOWN, "nothing to load");
	make(&made, "/lib/ld-musl-x86_64.so.1");
	made.headers[1].p_offset = FILE_BYTES + 1;
	cr_assert_eq(classify(&made, "x"), IMAGE_UNKNOWN, "a loader's name behind the end");
	memcpy(made.bytes, "#!/bin/sh\n", 10);
	cr_assert_eq(classify(&made, "x"), IMAGE_UNKNOWN);
	make(&made, "/lib64/ld-linux-x86-64.so.2");
	add_section(&made, ".bun", 3);
	made.elf->e_shoff = UINT64_MAX - 8;
	cr_assert_eq(classify(&made, "x"), IMAGE_PRELOADABLE, "damaged sections");
}

Test(image, other_machines)
{
	struct made made;

	make(&made, NULL);
	made.elf->e_machine = OTHER_MACHINE;
	cr_assert_eq(classify(&made, "x"), IMAGE_FOREIGN);
	make(&made, NULL);
	made.elf->e_ident[EI_CLASS] = ELFCLASS32;
	cr_assert_eq(classify(&made, "x"), IMAGE_FOREIGN);
}

Test(image, every_kind_has_its_phrase)
{
	for (int kind = 0; kind < IMAGE_KINDS; kind++) {
		bool plain = kind == IMAGE_UNKNOWN || kind == IMAGE_PRELOADABLE;
		cr_assert_eq(image_phrase((enum image_kind)kind) == NULL, plain, "%d", kind);
		cr_assert(!plain || !image_needs_supervisor((enum image_kind)kind));
	}
	cr_assert_not(image_needs_supervisor(IMAGE_FOREIGN));
	cr_assert_not(image_loads_library(IMAGE_FOREIGN));
}

Test(image, privileges)
{
	int fd = memfd_create("image", 0);
	struct stat stat;

	cr_assert_eq(fstat(fd, &stat), 0);
	cr_assert_not(image_gains_privileges(fd, &stat));
	stat.st_mode = S_IFREG | 04755;
	cr_assert(image_gains_privileges(fd, &stat));
	stat.st_mode = S_IFREG | 02755;
	cr_assert(image_gains_privileges(fd, &stat));
	stat.st_mode = S_IFREG | 02745; /* mandatory locks, once */
	cr_assert_not(image_gains_privileges(fd, &stat));
	(void)close(fd);
}
