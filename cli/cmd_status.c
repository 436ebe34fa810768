#include "cli/command.h"
int cmd_status(int argc,char**argv){(void)argc;(void)argv;return 0;}
