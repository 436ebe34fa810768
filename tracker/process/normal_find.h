/* The normal form of find(1): see normal_form.h. */
#ifndef SEEN_TRACKER_NORMAL_FIND_H
#define SEEN_TRACKER_NORMAL_FIND_H

#include <stdbool.h>

#include "tracker/process/normal_words.h"

/* normal_find(): writes it behind the program's name.  Returns false where there is none. */
bool normal_find(char *const argv[], struct normal_words *words);

#endif
