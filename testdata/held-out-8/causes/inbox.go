// An inbox: inbox WINDOW takes PUTs by HTTP/2 in clear text; each stream has a window of WINDOW bytes.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
)

func main() {
	window, _ := strconv.Atoi(os.Args[1])
	inbox := &http.Server{
		Addr:      ":8000",
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxReceiveBufferPerStream: window, MaxReceiveBufferPerConnection: 1 << 20},
		Handler: http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
			io.Copy(io.Discard, request.Body)
			answer.WriteHeader(http.StatusNoContent)
		}),
	}
	inbox.Protocols.SetUnencryptedHTTP2(true)
	log.Fatal(inbox.ListenAndServe())
}
