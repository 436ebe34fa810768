/* Programs of the other architecture: see foreign.h. */
#include "shim/supervise/foreign.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/supervise/memory.h"
#include "shim/supervise/message.h"
#include "shim/supervise/resolve_links.h"
#include "tracker/path/path.h"

/* Would the kernel run it by itself, by the calls of another architecture? */
static bool is_foreign(int fd)
{
	Elf32_Ehdr head; /* begins as Elf64_Ehdr does */

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
#if defined(__x86_64__)
	return head.e_machine == EM_386 ||
	       (head.e_machine == EM_X86_64 && head.e_ident[EI_CLASS] == ELFCLASS32);
#else
	return head.e_machine == EM_ARM;
#endif
}

static bool names_foreign(const struct trapped *trapped, const struct named *named)
{
	const struct target *target = trapped->target;

	exchange_note_slow(trapped->exchange);
	if (!inspection_wait_for_rules()) {
		segment_count(trapped->supervision->segment, COUNTER_calls_unjudged, 1);
		return false;
	}
	int fd = resolve_file(target, named, true);
	if (fd >= 0)
		fd = resolve_open(fd);
	bool found = fd >= 0 && is_foreign(fd);
	if (fd >= 0)
		(void)close(fd);
	inspection_finish();
	return found;
}

bool foreign_refuses(const struct trapped *trapped, const struct named *named)
{
	const struct supervision *supervision = trapped->supervision;
	char line[2 * SEGMENT_PATH_BYTES], name[SEGMENT_PATH_BYTES];

	if (!supervision->is_strict || !names_foreign(trapped, named))
		return false;
	if (path_escape(named->path, name, sizeof(name)) < 0)
		name[0] = '\0';
	(void)snprintf(line, sizeof(line),
		       "seen: %s is not started: a rule denies, and would not hold for a 32-bit "
		       "program\n",
		       name[0] ? name : "a program");
	message_refusal(supervision, trapped->target, line);
	return true;
}
