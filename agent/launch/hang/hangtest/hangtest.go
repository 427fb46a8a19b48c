package hangtest

import (
	"context"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// Stage simulates a run for a hang.Watch, in a synctest bubble.
type Stage struct {
	mu    sync.Mutex
	Began time.Time
	Asked map[string]int
	CPU   map[string]float64 // share of a processor that each rank uses
	Used  map[string]int64   // additional processor time, in milliseconds
	Moved map[string]int64   // bytes read and written
	State string
	Call  string // the system call that each rank sits in
	Wary  bool   // the watch is Wary
	Extra int    // additional processes that a worker reports
	Left  int
	Wait  uint64 // bytes of output that are not read
	Err   map[string]error
}

// New returns a stage on which every rank sleeps in recvfrom.
func New() *Stage {
	return &Stage{Began: time.Now(), Asked: map[string]int{}, CPU: map[string]float64{}, Used: map[string]int64{}, Moved: map[string]int64{}, State: "S", Call: "recvfrom", Err: map[string]error{}}
}

// Worker is one worker of a stage. It has one rank, whose number is the worker's name.
type Worker struct {
	*Stage
	Name string
}

// Ask implements hang.Asker.
func (s Worker) Ask(context.Context) (wire.AnswerRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked[s.Name]++
	if err := s.Err[s.Name]; err != nil {
		return wire.AnswerRecord{}, err
	}
	used := float64(time.Since(s.Began).Milliseconds()) * s.CPU[s.Name]
	list := []wire.ProcessRecord{
		{PID: 1, Start: 1, Command: "orted", State: "S", CPU: time.Since(s.Began).Milliseconds()}, // a daemon may use the processor
		{PID: 2, Start: 1, Parent: 1, Command: "python", Rank: s.Name, State: s.State, CPU: int64(used) + s.Used[s.Name], Moved: s.Moved[s.Name], Call: s.Call},
	}
	for i := range s.Extra {
		list = append(list, wire.ProcessRecord{PID: 10 + i, Start: 1, Rank: s.Name, State: "S"})
	}
	return wire.AnswerRecord{Left: s.Left, Sessions: []wire.SessionRecord{{ID: "s", Unread: s.Wait, Processes: list}}}, nil
}

// Change changes the stage while the watch may look at it.
func (s *Stage) Change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
