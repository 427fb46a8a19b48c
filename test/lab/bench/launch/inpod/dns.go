package main

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"time"
)

// serveDNS knows no name. It says so at once of names of the cluster, and after a while of all others,
// as a cluster's DNS does that asks a slow one outside.
func serveDNS(after time.Duration) error {
	conn, err := net.ListenPacket("udp", ":53")
	if err != nil {
		return fmt.Errorf("serve DNS: %w", err)
	}
	defer conn.Close()
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		question := make([]byte, 512)
		n, from, err := conn.ReadFrom(question)
		if err != nil {
			return fmt.Errorf("serve DNS: %w", err)
		}
		answer, slow := unknown(question[:n])
		if answer == nil {
			continue
		}
		answers.Go(func() {
			if slow {
				time.Sleep(after)
			}
			_, _ = conn.WriteTo(answer, from) // whoever asked asks again
		})
	}
}

// unknown is a question (RFC 1035, 4.1) as an answer: no such name. It tells whether
// the name is none of the cluster's.
func unknown(question []byte) (answer []byte, outside bool) {
	const header, response, noSuchName = 12, 0x80, 3
	if len(question) < header {
		return nil, false
	}
	end := bytes.IndexByte(question[header:], 0) // of the name: labels, then the root
	if end < 0 || len(question) < header+end+5 {
		return nil, false
	}
	name := question[header : header+end+1]
	answer = append([]byte{}, question[:header+end+5]...)
	answer[2] |= response
	answer[3] = noSuchName
	copy(answer[6:header], make([]byte, 6)) // no records
	return answer, !bytes.HasSuffix(name, []byte("\x07cluster\x05local\x00"))
}
