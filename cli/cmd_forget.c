#include "cli/command.h"
int cmd_forget(int argc,char**argv){(void)argc;(void)argv;return 0;}
