/* LD_PRELOAD library: sets options on each TCP socket that a program makes, before it is connected. OPT="LEVEL:NAME:VALUE" ("1:8:40000" is SO_RCVBUF, "1:47:500000" SO_MAX_PACING_RATE). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int socket(int family, int type, int protocol) {
    int (*real)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int s = real(family, type, protocol), level, name, value;
    const char *option = getenv("OPT");
    if (s >= 0 && family == AF_INET && (type & 15) == SOCK_STREAM && option && sscanf(option, "%d:%d:%d", &level, &name, &value) == 3)
        setsockopt(s, level, name, &value, sizeof value);
    return s;
}
