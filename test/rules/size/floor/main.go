// Command floor is what a stub written in Go costs at least. It connects to the socket in its first argument, sends
// as many bytes as a request has, and waits for one byte. Without an argument it ends at once. Command size starts it
// after the agent, and its bars are ratios of the two starts.
package main

import (
	"encoding/binary"
	"net"
	"os"
)

const requestSize = 300

func main() {
	if len(os.Args) < 2 {
		return
	}
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	request := binary.BigEndian.AppendUint32(nil, requestSize)
	if _, err := conn.Write(append(request, make([]byte, requestSize)...)); err != nil {
		os.Exit(1)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		os.Exit(1)
	}
}
