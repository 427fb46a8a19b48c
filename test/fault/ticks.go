package main

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// ticks takes the child's ticks, 8-byte numbers from 0 on, and checks them.
type ticks struct {
	came func() // called at each write, if set

	mu   sync.Mutex
	part []byte
	next uint64
	err  error
}

func (t *ticks) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, p...)
	for ; len(t.part) >= 8; t.part = t.part[8:] {
		if n := binary.BigEndian.Uint64(t.part); n != t.next && t.err == nil {
			t.err = fmt.Errorf("tick %d came where %d was due", n, t.next)
		}
		t.next++
	}
	if t.came != nil {
		t.came()
	}
	return len(p), nil
}

// check says what was wrong with what came.
func (t *ticks) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && t.next == 0 {
		return fmt.Errorf("no tick came")
	}
	return t.err
}
