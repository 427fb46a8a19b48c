package main

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/goleak"
)

// clean ends the servers; an error tells of a goroutine or a process that is left.
func (y *yard) clean() error {
	processes, goroutines, err := y.leftovers()
	if processes > 0 || goroutines != nil {
		err = errors.Join(err, fmt.Errorf("%d processes left", processes), goroutines)
	}
	return err
}

// leftovers ends the servers and looks for what is left: processes, and
// goroutines. A kubelet waits 30 s for streams that do not come, and an API server
// as long for the answers to its own.
//
// The servers' own SPDY connections now and then keep a shutdown that waits for
// ever: a stream that was refused, or came as the connection was closed, is in
// nobody's list any more when all are reset. The launcher's connections have no
// goroutines of their own.
func (y *yard) leftovers() (processes int, goroutines, err error) {
	left, err := y.procs.left()
	for _, p := range left {
		fmt.Printf("LEFT process %+v\n", p)
	}
	y.cluster.Close()
	err = errors.Join(err, y.procs.close())
	for range 60 {
		goroutines = goleak.Find(goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
			goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"),
			goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown.func1"))
		if goroutines == nil {
			break
		}
		time.Sleep(time.Second)
	}
	return len(left), goroutines, err
}

// cleanly records that nothing is left.
func cleanly(y *yard, b *book) error {
	processes, goroutines, err := y.leftovers()
	if err != nil {
		return err
	}
	raw := map[string]int{"processes": processes, "goroutines": 0}
	if goroutines != nil {
		raw["goroutines"] = 1
		fmt.Printf("LEFT %v\n", goroutines)
	}
	log, err := b.raw("fault-left", raw)
	return errors.Join(err,
		b.row("processes left after all faults", log+"#processes", "==", 0),
		b.row("goroutines left after all faults (goleak finds any: 1)", log+"#goroutines", "==", 0))
}
