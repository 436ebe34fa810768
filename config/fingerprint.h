/*
 * Which list of options a build has, as a number.
 *
 * A program and a library of different builds must not read each other's settings: the segment
 * carries this number, and each process that maps it compares.  It is made of each option's kind,
 * name, position, the words of its choices in their order, what rules may speak of, and the size of
 * struct settings; not of defaults, ranges and texts, which do not change the layout.
 *
 * The loop below is written out so that gcc and clang fold it into a constant at -O1 and above; at
 * -O0 it costs a few microseconds.  It calls nothing and is async-signal-safe.
 */
#ifndef SEEN_CONFIG_FINGERPRINT_H
#define SEEN_CONFIG_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

enum { FINGERPRINT_TEXT_BYTES_MAX = 128 };

/* FNV-1a, 64 bit (Fowler, Noll, Vo; draft-eastlake-fnv): one byte. */
#define FINGERPRINT_STEP(i) \
	if ((i) < bytes) \
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
#define FINGERPRINT_STEPS_4(i) \
	FINGERPRINT_STEP(i) \
	FINGERPRINT_STEP((i) + 1) FINGERPRINT_STEP((i) + 2) FINGERPRINT_STEP((i) + 3)
#define FINGERPRINT_STEPS_16(i) \
	FINGERPRINT_STEPS_4(i) \
	FINGERPRINT_STEPS_4((i) + 4) FINGERPRINT_STEPS_4((i) + 8) FINGERPRINT_STEPS_4((i) + 12)

/* fingerprint_add(): `hash` continued over a text of at most FINGERPRINT_TEXT_BYTES_MAX bytes. */
__attribute__((always_inline)) static inline uint64_t fingerprint_add(uint64_t hash,
								      const char *text,
								      size_t bytes)
{
	FINGERPRINT_STEPS_16(0)
	FINGERPRINT_STEPS_16(16)
	FINGERPRINT_STEPS_16(32)
	FINGERPRINT_STEPS_16(48)
	FINGERPRINT_STEPS_16(64)
	FINGERPRINT_STEPS_16(80)
	FINGERPRINT_STEPS_16(96)
	FINGERPRINT_STEPS_16(112)
	return hash;
}
#undef FINGERPRINT_STEPS_16
#undef FINGERPRINT_STEPS_4
#undef FINGERPRINT_STEP

/* What is hashed of one option, as a literal. */
#define FINGERPRINT_WORD(constant, word) " " #word
#define FINGERPRINT_NUMBER(section, name) "NUMBER " #section "." #name ";"
#define FINGERPRINT_CHOICE(section, name) \
	"CHOICE " #section "." #name SETTINGS_CHOICES_##section##_##name(FINGERPRINT_WORD) ";"
#define FINGERPRINT_TEXT(section, name) "TEXT " #section "." #name ";"
#define FINGERPRINT_LIST(section, name) "LIST " #section "." #name ";"
#define FINGERPRINT_RULE_OPS "rule" SETTINGS_RULE_OPS(FINGERPRINT_WORD) ";"
_Static_assert(sizeof(FINGERPRINT_RULE_OPS) <= FINGERPRINT_TEXT_BYTES_MAX,
	       "what rules speak of is too long for its fingerprint");

#define NUMBER(section, name, value, min, max, workspace, flag, unit, doc) \
	_Static_assert(sizeof(FINGERPRINT_NUMBER(section, name)) <= FINGERPRINT_TEXT_BYTES_MAX, \
		       #section "." #name " is too long for its fingerprint");
#define CHOICE(section, name, value, workspace, flag, doc) \
	_Static_assert(sizeof(FINGERPRINT_CHOICE(section, name)) <= FINGERPRINT_TEXT_BYTES_MAX, \
		       #section "." #name " is too long for its fingerprint");
#define TEXT(section, name, value, workspace, flag, doc) \
	_Static_assert(sizeof(FINGERPRINT_TEXT(section, name)) <= FINGERPRINT_TEXT_BYTES_MAX, \
		       #section "." #name " is too long for its fingerprint");
#define LIST(section, name, value, workspace, flag, doc) \
	_Static_assert(sizeof(FINGERPRINT_LIST(section, name)) <= FINGERPRINT_TEXT_BYTES_MAX, \
		       #section "." #name " is too long for its fingerprint");
#include "config/options.def"
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef LIST

/* settings_fingerprint(): the number of this build.  Never 0: 0 can mean "not yet written". */
__attribute__((always_inline)) static inline uint64_t settings_fingerprint(void)
{
	uint64_t hash = 0xcbf29ce484222325u ^ sizeof(struct settings);

#define ADD(text) hash = fingerprint_add(hash, text, sizeof(text) - 1);
#define NUMBER(section, name, value, min, max, workspace, flag, unit, doc) \
	ADD(FINGERPRINT_NUMBER(section, name))
#define CHOICE(section, name, value, workspace, flag, doc) ADD(FINGERPRINT_CHOICE(section, name))
#define TEXT(section, name, value, workspace, flag, doc) ADD(FINGERPRINT_TEXT(section, name))
#define LIST(section, name, value, workspace, flag, doc) ADD(FINGERPRINT_LIST(section, name))
#include "config/options.def"
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef LIST
	ADD(FINGERPRINT_RULE_OPS)
#undef ADD
	return hash != 0 ? hash : 1;
}

#undef FINGERPRINT_WORD
#undef FINGERPRINT_NUMBER
#undef FINGERPRINT_CHOICE
#undef FINGERPRINT_TEXT
#undef FINGERPRINT_LIST
#undef FINGERPRINT_RULE_OPS

#endif
