// A list of tariffs: tariff BYTES answers each line on port 8000 with a line of BYTES, in one write.
package main

import (
	"bufio"
	"bytes"
	"log"
	"net"
	"os"
	"strconv"
)

func main() {
	size, _ := strconv.Atoi(os.Args[1])
	answer := append(bytes.Repeat([]byte("t"), size-1), '\n')
	door, err := net.Listen("tcp4", ":8000")
	if err != nil {
		log.Fatal(err)
	}
	for {
		client, err := door.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer client.Close()
			for lines := bufio.NewScanner(client); lines.Scan(); {
				if _, err := client.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}
