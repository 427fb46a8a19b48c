// Command child is the process that the fault runs start in workers. It adds a line to a file, writes seeded noise
// to stdout while it reads stdin, writes the SHA-256 sum of its input to stderr, and exits with CODE.
//
//	child STARTS SEED BYTES CODE
//
// With the single argument `tick`, it writes the numbers from 0 on, 8 bytes each, one every 5 ms, until it is
// stopped.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 99
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 1 && args[0] == "tick" {
		return 0, tick()
	}
	if len(args) != 4 {
		return 0, fmt.Errorf("%d arguments", len(args))
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return 0, err
	}
	code, err := strconv.Atoi(args[3])
	if err != nil {
		return 0, err
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	if _, err := f.WriteString("started\n"); err != nil {
		return 0, err
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.Copy(os.Stdout, io.LimitReader(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}), size))
		written <- err
	}()
	h := sha256.New()
	if _, err := io.Copy(h, os.Stdin); err != nil {
		return 0, err
	}
	if err := <-written; err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(os.Stderr, "%x\n", h.Sum(nil))
	return code, err
}

func tick() error {
	for n := uint64(0); ; n++ {
		if _, err := os.Stdout.Write(binary.BigEndian.AppendUint64(nil, n)); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
