/* Feeds a label printer: spool HOST COUNT BYTES sends a label when the kernel says that all before it is acknowledged (TCP_INFO: nothing unacked), as a spooler does that wants to know which label came through. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **word) {
    if (count != 4) return 2;
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(8000)};
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1, labels = atoi(word[2]), bytes = atoi(word[3]);
    char *label = malloc(bytes);
    if (s < 0 || !label || !inet_aton(word[1], &there.sin_addr) || setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) || connect(s, (struct sockaddr *)&there, sizeof there)) return 1;
    memset(label, 'l', bytes);
    for (int i = 0; i < labels; i++) {
        if (write(s, label, bytes) != bytes) return 1;
        for (;;) {
            struct tcp_info now;
            socklen_t size = sizeof now;
            if (getsockopt(s, IPPROTO_TCP, TCP_INFO, &now, &size)) return 1;
            if (!now.tcpi_unacked) break;
            usleep(1000);
        }
    }
    return 0;
}
