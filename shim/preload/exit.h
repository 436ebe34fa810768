/* The end of the process. */
#ifndef SEEN_SHIM_EXIT_H
#define SEEN_SHIM_EXIT_H

/* at_exit(): for on_exit(3), before the program's own.  Not after a signal or exec. */
void at_exit(int status, void *unused);

/* ending_now(): the process calls _exit(): no exit handler will run. */
void ending_now(int status);

#endif
