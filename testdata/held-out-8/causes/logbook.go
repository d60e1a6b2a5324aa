// A ship's logbook: logbook HOST COUNT BYTES writes an entry, and the next one when the socket's queue is empty (SIOCOUTQ), that is when the other end acknowledged it.
package main

import (
	"bytes"
	"log"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	size, _ := strconv.Atoi(os.Args[3])
	to, err := net.Dial("tcp", os.Args[1]+":8000")
	if err != nil {
		log.Fatal(err)
	}
	raw, err := to.(*net.TCPConn).SyscallConn()
	if err != nil {
		log.Fatal(err)
	}
	entry := bytes.Repeat([]byte("l"), size)
	for i := 0; i < count; i++ {
		if _, err := to.Write(entry); err != nil {
			log.Fatal(err)
		}
		for left := int32(1); left > 0; {
			time.Sleep(time.Millisecond)
			raw.Control(func(socket uintptr) {
				syscall.Syscall(syscall.SYS_IOCTL, socket, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&left)))
			})
		}
	}
	to.Close()
}
