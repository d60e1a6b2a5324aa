// A buoy: buoy HOST COUNT BYTES sends a reading, and the next one when the socket's queue is empty (SIOCOUTQ), that is when the last one is acknowledged.
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	int count = atoi(argv[2]), bytes = atoi(argv[3]), one = 1, left, s = socket(AF_INET, SOCK_STREAM, 0);
	char *reading = malloc(bytes);
	memset(reading, 'r', bytes);
	struct sockaddr_in quay = {.sin_family = AF_INET, .sin_port = htons(8000), .sin_addr.s_addr = inet_addr(argv[1])};
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(s, (struct sockaddr *)&quay, sizeof quay)) return 1;
	while (count--) {
		if (write(s, reading, bytes) != bytes) return 1;
		do usleep(1000);
		while (!ioctl(s, SIOCOUTQ, &left) && left);
	}
	return 0;
}
