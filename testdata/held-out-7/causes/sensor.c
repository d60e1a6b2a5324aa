/* A sensor with one record of memory: sensor HOST COUNT BYTES writes a record, and the next one when the kernel has told that the other end acknowledged it (SO_TIMESTAMPING's TX_ACK, from the error queue). */
#include <arpa/inet.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **word) {
    if (count != 4) return 2;
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(8000)};
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1, records = atoi(word[2]), bytes = atoi(word[3]);
    int tell = SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
    char *record = malloc(bytes), room[512];
    if (s < 0 || !record || !inet_aton(word[1], &there.sin_addr) || setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)
        || connect(s, (struct sockaddr *)&there, sizeof there) || setsockopt(s, SOL_SOCKET, SO_TIMESTAMPING, &tell, sizeof tell)) return 1;
    memset(record, 's', bytes);
    for (int i = 0; i < records; i++) {
        if (write(s, record, bytes) != bytes) return 1;
        struct pollfd wait = {.fd = s, .events = 0};
        struct msghdr note = {.msg_control = room, .msg_controllen = sizeof room};
        if (poll(&wait, 1, 10000) != 1 || recvmsg(s, &note, MSG_ERRQUEUE) < 0) return 1;
    }
    return 0;
}
