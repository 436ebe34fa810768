/* What the keys that move do: see screen_scroll.h. */
#include "cli/screen/screen_scroll.h"

#include "cli/screen/screen.h"

void screen_scroll(size_t *place, size_t last, size_t page, uint32_t key)
{
	switch (key) {
	case SCREEN_KEY_UP:
	case 'k':
		*place -= *place > 0;
		break;
	case SCREEN_KEY_DOWN:
	case 'j':
		*place += 1;
		break;
	case SCREEN_KEY_PAGE_UP:
		*place -= *place < page ? *place : page;
		break;
	case SCREEN_KEY_PAGE_DOWN:
	case ' ':
		*place += page;
		break;
	case SCREEN_KEY_HOME:
	case 'g':
		*place = 0;
		break;
	case SCREEN_KEY_END:
	case 'G':
		*place = last;
		break;
	default:
		break;
	}
	if (*place > last)
		*place = last;
}
