/*
 * Images: what the file of a program says about the libraries that it is linked with, as far as a
 * preloaded library must know it.  ELF as in elf(5).
 */
#ifndef SEEN_TRACKER_IMAGE_H
#define SEEN_TRACKER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

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
 * aligned.  Three reads at most.
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
