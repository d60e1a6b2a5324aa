/* A client that seeds a file with an upload limit of its own: seed HOST FILE RATE sets SO_MAX_PACING_RATE (bytes/s) on its socket and sends the file by sendfile(). */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **word) {
    if (count != 4) return 2;
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(8000)};
    int s = socket(AF_INET, SOCK_STREAM, 0), file = open(word[2], O_RDONLY);
    unsigned rate = strtoul(word[3], 0, 10);
    if (s < 0 || file < 0 || !inet_aton(word[1], &there.sin_addr) || setsockopt(s, SOL_SOCKET, 47, &rate, sizeof rate) || connect(s, (struct sockaddr *)&there, sizeof there)) return 1;
    while (sendfile(s, file, 0, 1 << 20) > 0) {}
    shutdown(s, SHUT_WR);
    char rest[16];
    while (read(s, rest, sizeof rest) > 0) {}
    return 0;
}
