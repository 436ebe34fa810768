/*
 * Programs of the machine's other architecture (32-bit ones), whose calls the filter does not know.  A run with a rule
 * that denies starts none.
 */
#ifndef SEEN_SUPERVISE_FOREIGN_H
#define SEEN_SUPERVISE_FOREIGN_H

#include "shim/supervise/trapped.h"

/* foreign_refuses(): does the run refuse to start the program that a process names?  A line says so: for its agent, or for the user. */
bool foreign_refuses(const struct trapped *trapped, const struct named *named);

#endif
