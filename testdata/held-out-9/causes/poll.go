// Looks at a picture from time to time: poll HOST COUNT PAUSE gets it COUNT times over one connection, PAUSE milliseconds after it had the last one.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	pause, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < count; i++ {
		if i > 0 {
			time.Sleep(time.Duration(pause) * time.Millisecond)
		}
		answer, err := http.Get("http://" + os.Args[1] + ":8000/picture")
		if err != nil {
			log.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			log.Fatal(err)
		}
		answer.Body.Close()
	}
}
