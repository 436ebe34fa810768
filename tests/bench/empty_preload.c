/*
 * Injection only: a library that is linked to libc and does nothing.  What a program loses with it
 * in LD_PRELOAD is the least that any library of this kind can cost.
 */
#include <unistd.h>

/* Without the use of a name the linker would leave libc out, and the loader would have less to do. */
__attribute__((used)) static pid_t (*const libc)(void) = getpid;

__attribute__((constructor)) static void start(void)
{
}
