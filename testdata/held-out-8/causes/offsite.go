// A copy for another site: offsite HOST FILE RATE sends FILE; the socket has SO_MAX_PACING_RATE (option 47) RATE, in bytes/s.
package main

import (
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"syscall"
)

func main() {
	rate, _ := strconv.Atoi(os.Args[3])
	file, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		raw.Control(func(socket uintptr) { failed = syscall.SetsockoptInt(int(socket), syscall.SOL_SOCKET, 47, rate) })
		return failed
	}}
	to, err := dialer.Dial("tcp", os.Args[1]+":8000")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(to, file); err != nil {
		log.Fatal(err)
	}
	to.Close()
}
