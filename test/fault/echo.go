package main

import (
	"fmt"
	"io"
	"sync"
)

// feed is a stdin that is handed what to read.
type feed struct {
	in   chan []byte
	rest []byte
	once sync.Once
	done chan struct{}
}

func newFeed() *feed { return &feed{in: make(chan []byte, 1), done: make(chan struct{})} }

// Read implements io.Reader.
func (f *feed) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		select {
		case b, ok := <-f.in:
			if !ok {
				return 0, io.EOF
			}
			f.rest = b
		case <-f.done:
			return 0, io.EOF
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

// echo is a session that gives back what it gets.
type echo struct {
	in   *feed
	came chan error // what was said has come back

	mu   sync.Mutex
	want []byte
}

// say sends a word; came delivers when it has come back.
func (e *echo) say(word string) {
	e.mu.Lock()
	e.want = append(e.want, word...)
	e.mu.Unlock()
	e.in.in <- []byte(word)
}

// Write takes what comes back.
func (e *echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(p) > len(e.want) || string(p) != string(e.want[:len(p)]) {
		e.came <- fmt.Errorf("%q came back where %q was due", p, e.want)
		return len(p), nil
	}
	if e.want = e.want[len(p):]; len(e.want) == 0 {
		e.came <- nil
	}
	return len(p), nil
}
