/*
 * Images: what the file of a program says about how its processes can be observed, and what a
 * preloaded library must know of it.  ELF as in elf(5).
 */
#ifndef SEEN_TRACKER_IMAGE_H
#define SEEN_TRACKER_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The architecture that programs of this machine are for (e_machine). */
#if defined(__x86_64__)
enum { IMAGE_OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { IMAGE_OWN_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { IMAGE_OWN_MACHINE = EM_RISCV };
#else
enum { IMAGE_OWN_MACHINE = EM_NONE };
#endif

/* What a program file is, as far as it decides how its processes can be observed. */
enum image_kind {
	IMAGE_UNKNOWN,     /* no program file of this machine's format, or a damaged one */
	IMAGE_PRELOADABLE, /* linked with glibc: the library is inside and sees what it does */
	IMAGE_STATIC,
	IMAGE_MUSL,
	IMAGE_OTHER_LIBC, /* another dynamic loader */
	IMAGE_GO,         /* linked with glibc, and makes system calls of its own */
	IMAGE_BUN,        /* likewise */
	IMAGE_SANITIZED,  /* AddressSanitizer must be its first library */
	IMAGE_DETECTOR,   /* valgrind's detectors of data races: the library stays out */
	IMAGE_FOREIGN,    /* for another architecture, or of another word size */
	IMAGE_KINDS,
};

/* image_loads_library(): does the loader of such a program load a preloaded library, or hand it on
 * to the programs that it starts, without a message? */
static inline bool image_loads_library(enum image_kind kind)
{
	return kind != IMAGE_MUSL && kind != IMAGE_SANITIZED && kind != IMAGE_DETECTOR &&
	       kind != IMAGE_FOREIGN;
}

/* image_needs_supervisor(): does such a program do something that only a supervisor sees?  One of
 * another architecture does, and its calls pass the supervisor's filter. */
static inline bool image_needs_supervisor(enum image_kind kind)
{
	return kind >= IMAGE_STATIC && kind <= IMAGE_DETECTOR;
}

/* image_phrase(): why the library does not see such a program, or not all that it does: "static",
 * "linked with musl" ...  Static; NULL where it does, and where nothing is known. */
const char *image_phrase(enum image_kind kind);

/* image_classify(): tells what an ELF file is.
 *
 * fd: of the file.  path: that it was found by, for its name.  size_bytes: of the file.  head: its
 * first `length` bytes, 8-byte aligned.
 * Returns IMAGE_UNKNOWN for what the kernel does not run: a file that is cut, a library without an
 * entry.  Some reads of it, and 2 KiB of the stack at most; async-signal-safe, keeps errno. */
enum image_kind image_classify(int fd, const char *path, uint64_t size_bytes, const char *head,
			       size_t length);

/* image_gains_privileges(): does a program file give other rights to the process that starts it
 * (setuid, setgid, file capabilities)?  fd: of it. */
bool image_gains_privileges(int fd, const struct stat *stat);

/* image_is_address_sanitizer(): is a library, given by its path or name, the shared runtime of
 * AddressSanitizer or HWAddressSanitizer, of gcc or clang?  These end a program in which another
 * library was loaded before them.  The runtimes of the other sanitizers do not, nor those linked
 * into the program.
 *
 * name: `bytes` bytes; a NUL behind them is not needed.  Async-signal-safe. */
bool image_is_address_sanitizer(const char *name, size_t bytes);

/* image_loads_sanitizer_first(): is such a runtime the first library that the program needs
 * (DT_NEEDED)?  Where it is not the first one, the program does not start without seen either.
 *
 * fd: of an ELF file of this machine and word size.  head: its first `length` bytes, 8-byte
 * aligned.  Some small reads.
 * Returns false for what cannot be read.  Async-signal-safe, keeps errno. */
bool image_loads_sanitizer_first(int fd, const char *head, size_t length);

/* image_is_race_detector(): is a program, by its name, the tool of valgrind that looks for data
 * races (helgrind, drd)?  It takes every word that the library shares without a lock for one, in
 * each program of several threads.
 *
 * path: of a program that has no dynamic loader.  Async-signal-safe. */
bool image_is_race_detector(const char *path);

/* image_find_sanitizer(): the first such runtime in a value of LD_PRELOAD (ld.so(8): separated by
 * spaces or colons).  Returns where its name begins, or NULL.  Async-signal-safe. */
const char *image_find_sanitizer(const char *value);

#endif
