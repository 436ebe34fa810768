/*
 * cli/lib/via: which mechanisms a command gets, by the files it is made of.
 *
 * The program files are made here: an ELF header, as much as executable.c reads.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cli/base/executable.h"
#include "cli/run/via.h"
#include "support.h"

static struct world world;
static struct config *config;
static struct via via;
static int answer, asked;
static bool has_library;

static int supported(void)
{
	asked++;
	return answer;
}

static void start(void)
{
	world_open(&world, NULL);
	must(config_new(&config) == 0);
	answer = asked = 0;
	has_library = true;
}

static void stop(void)
{
	config = config_free(config);
	world_close(&world);
}

TestSuite(via, .init = start, .fini = stop);

/* ---- program files ---- */

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, OTHER_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { MACHINE = EM_RISCV, OTHER_MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64, OTHER_MACHINE = EM_X86_64 };
#endif

/* An ELF file with that loader (NULL: static) and, where it is not NULL, that section. */
static const char *elf(const char *name, uint16_t machine, const char *loader, const char *section)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		Elf64_Shdr sections[3];
		char loader[64];
		char names[64];
	} file;
	const char *path = world_path(&world, name);

	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB
									      : ELFDATA2LSB;
	file.header.e_type = ET_EXEC;
	file.header.e_machine = machine;
	file.header.e_phentsize = sizeof(file.segment);
	file.header.e_phoff = sizeof(file.header);
	file.header.e_phnum = 1;
	file.segment.p_type = loader ? PT_INTERP : PT_LOAD;
	file.segment.p_offset = (size_t)(file.loader - (char *)&file);
	if (loader) {
		(void)snprintf(file.loader, sizeof(file.loader), "%s", loader);
		file.segment.p_filesz = strlen(loader) + 1;
	}
	if (section) {
		(void)snprintf(file.names + 1, sizeof(file.names) - 1, "%s", section);
		file.header.e_shoff = (size_t)((char *)file.sections - (char *)&file);
		file.header.e_shentsize = sizeof(file.sections[0]);
		file.header.e_shnum = 3;
		file.header.e_shstrndx = 1;
		file.sections[1].sh_offset = (size_t)(file.names - (char *)&file);
		file.sections[1].sh_size = sizeof(file.names);
		file.sections[2].sh_name = 1;
	}
	write_path(path, &file, sizeof(file));
	must(chmod(path, 0755) == 0);
	return path;
}

static const char GLIBC[] = "/lib64/ld-linux-x86-64.so.2";

static const char *script(const char *name, const char *interpreter)
{
	const char *path = world_path(&world, name);
	char text[600];

	(void)snprintf(text, sizeof(text), "#!%s\n", interpreter);
	write_path(path, text, strlen(text));
	must(chmod(path, 0755) == 0);
	return path;
}

/* ---- what the tests say ---- */

static void set(const char *key, const char *value)
{
	struct config_error error;

	cr_assert_eq(config_set(config, key, value, "--via", &error), 0, "%s", error.text);
}

static void choose(const char *first, const char *second)
{
	char *words[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL };

	asked = 0;
	via_choose(config, words, has_library, supported, &via);
}

static void is(enum session_via ways, const char *reason)
{
	cr_assert_eq(via.ways, ways, "%s (%s)", via_name(via.ways), via.reason);
	cr_assert(strstr(via.reason, reason) != NULL, "'%s' is not in: %s", reason, via.reason);
	cr_assert(via.note == NULL, "%s", via.note);
	cr_assert_eq(asked, ways == SESSION_VIA_PRELOAD ? 0 : 1);
}

/* ---- auto ---- */

Test(via, by_the_program_file)
{
	choose(elf("dynamic", MACHINE, GLIBC, NULL), NULL);
	is(SESSION_VIA_PRELOAD, "nothing");
	choose(elf("static", MACHINE, NULL, NULL), NULL);
	is(SESSION_VIA_BOTH, "static is static");
	cr_assert(via.at_exec);
	choose(elf("musl", MACHINE, "/lib/ld-musl-x86_64.so.1", NULL), NULL);
	is(SESSION_VIA_BOTH, "musl is linked with musl");
	choose(elf("bionic", MACHINE, "/system/bin/linker64", NULL), NULL);
	is(SESSION_VIA_BOTH, "not linked with glibc");
	choose(elf("foreign", OTHER_MACHINE, GLIBC, NULL), NULL);
	is(SESSION_VIA_BOTH, "foreign is for another architecture");
	choose(elf("go", MACHINE, GLIBC, ".go.buildinfo"), NULL);
	is(SESSION_VIA_BOTH, "built with Go");
	choose(elf("bunny", MACHINE, GLIBC, ".bun"), NULL);
	is(SESSION_VIA_BOTH, "built with Bun");
	choose(elf("plain", MACHINE, GLIBC, ".text"), NULL);
	is(SESSION_VIA_PRELOAD, "");
}

Test(via, by_the_chain_of_a_script)
{
	const char *dynamic = elf("dynamic", MACHINE, GLIBC, NULL);

	choose(script("one", dynamic), NULL);
	is(SESSION_VIA_PRELOAD, "");
	choose(script("two", elf("static", MACHINE, NULL, NULL)), NULL);
	is(SESSION_VIA_BOTH, "static is static");
	choose(script("three", script("four", world_path(&world, "static"))), NULL);
	is(SESSION_VIA_BOTH, "static is static");
	/* what is handed to a program says nothing */
	choose(dynamic, world_path(&world, "static"));
	is(SESSION_VIA_PRELOAD, "");
}

/* What an agent's launcher starts is the exec hook's to decide. */
Test(via, not_by_the_name)
{
	choose(elf("codex", MACHINE, GLIBC, NULL), NULL);
	is(SESSION_VIA_PRELOAD, "nothing");
	choose(script("claude.js", elf("node", MACHINE, GLIBC, NULL)), NULL);
	is(SESSION_VIA_PRELOAD, "nothing");
}

Test(via, by_a_rule_that_is_to_hold)
{
	const char *plain = elf("plain", MACHINE, GLIBC, NULL);

	set("rules.use", "secrets");
	choose(plain, NULL);
	is(SESSION_VIA_PRELOAD, "nothing");
	cr_assert_null(via.rule);
	set("rule mine.op", "read");
	set("rule mine.path", "x");
	set("rule mine.action", "deny");
	choose(plain, NULL);
	is(SESSION_VIA_BOTH, "[rule mine] is to hold (deny)");
	cr_assert_not(via.at_exec);
	choose(world_path(&world, "none"), NULL);
	is(SESSION_VIA_BOTH, "[rule mine]");
	set("rule mine.action", "fail");
	choose(plain, NULL);
	is(SESSION_VIA_BOTH, "[rule mine] is to hold (fail)");
	set("rule mine.action", "warn");
	choose(plain, NULL);
	is(SESSION_VIA_PRELOAD, "nothing");
	set("rule mine.action", "deny");
	set("session.via", "preload");
	choose(plain, NULL);
	is(SESSION_VIA_PRELOAD, "set by");
	cr_assert_null(via.refusal);
}

Test(via, what_cannot_be_inspected)
{
	choose(world_path(&world, "none"), NULL);
	is(SESSION_VIA_PRELOAD, "cannot be inspected");
	choose("", NULL);
	is(SESSION_VIA_PRELOAD, "cannot be inspected");
	choose(script("lost", "/nonexistent/interpreter"), NULL);
	is(SESSION_VIA_PRELOAD, "cannot be inspected");
	choose(script("loop", world_path(&world, "loop")), NULL);
	is(SESSION_VIA_PRELOAD, "");
	set("session.via", "both");
	choose(world_path(&world, "none"), NULL);
	is(SESSION_VIA_BOTH, "set by --via");
}

/* ---- where it was set, and where it cannot be ---- */

Test(via, said)
{
	const char *plain = elf("plain", MACHINE, GLIBC, NULL);
	const char *fixed = elf("fixed", MACHINE, NULL, NULL);

	set("session.via", "supervise");
	choose(plain, NULL);
	is(SESSION_VIA_SUPERVISE, "set by --via");
	set("session.via", "both");
	choose(plain, NULL);
	is(SESSION_VIA_BOTH, "set by --via");
	set("session.via", "preload");
	choose(fixed, NULL);
	is(SESSION_VIA_PRELOAD, "set by --via");
}

Test(via, without_the_library)
{
	has_library = false;
	choose(elf("dynamic", MACHINE, GLIBC, NULL), NULL);
	cr_assert_eq(via.ways, SESSION_VIA_SUPERVISE);
	cr_assert_str_eq(via.reason, "there is no library");
	cr_assert_not_null(via.note);
	set("session.via", "preload");
	choose(elf("plain", MACHINE, GLIBC, NULL), NULL);
	cr_assert_eq(via.ways, SESSION_VIA_PRELOAD);
}

Test(via, cannot_be_had)
{
	static const int ERRORS[] = { -ENOSYS, -EPERM, -EACCES, -EBUSY, -ENOMEM };
	static const char *const SAID[] = { "auto", "supervise", "both" };
	const char *fixed = elf("fixed", MACHINE, NULL, NULL);

	for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++) {
		answer = ERRORS[i];
		for (size_t k = 0; k < sizeof(SAID) / sizeof(SAID[0]); k++) {
			set("session.via", SAID[k]);
			choose(fixed, NULL);
			cr_assert_eq(via.ways, SESSION_VIA_PRELOAD);
			cr_assert_eq(asked, 1);
			cr_assert_str_eq(via.note, via_explain(ERRORS[i]));
		}
		cr_assert(strstr(via.note, "--via preload") && !strchr(via.note, '\n'));
	}
	cr_assert_str_neq(via_explain(-ENOSYS), via_explain(-EPERM));
	cr_assert_str_eq(via_explain(-EPERM), via_explain(-EACCES));
	/* nothing is reported, nor the kernel asked, where the library is enough */
	set("session.via", "auto");
	choose(elf("plain", MACHINE, GLIBC, NULL), NULL);
	is(SESSION_VIA_PRELOAD, "");
	set("session.via", "preload");
	choose(fixed, NULL);
	is(SESSION_VIA_PRELOAD, "");
}

static void drop_capability(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	must(syscall(SYS_capget, &header, data) == 0);
	data[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
	must(syscall(SYS_capset, &header, data) == 0);
}

Test(via, privileges)
{
	const char *raised = elf("raised", MACHINE, NULL, NULL);

	must(chmod(raised, 04755) == 0);
	if (!via_drops_privileges()) {
		choose(raised, NULL);
		is(SESSION_VIA_BOTH, "static");
		drop_capability(CAP_SYS_ADMIN);
	}
	cr_assert(via_drops_privileges());
	choose(raised, NULL);
	cr_assert_eq(asked, 0);
	cr_assert_eq(via.ways, SESSION_VIA_PRELOAD);
	cr_assert(via.note && strstr(via.note, "--via preload"));
	set("session.via", "both");
	choose(raised, NULL);
	cr_assert_eq(via.ways, SESSION_VIA_BOTH, "what was set holds");
	cr_assert(via.note && strstr(via.note, "--via preload"));
}

Test(via, names)
{
	cr_assert_str_eq(via_name(SESSION_VIA_AUTO), "auto");
	cr_assert_str_eq(via_name(SESSION_VIA_PRELOAD), "preload");
	cr_assert_str_eq(via_name(SESSION_VIA_SUPERVISE), "supervise");
	cr_assert_str_eq(via_name(SESSION_VIA_BOTH), "both");
}
