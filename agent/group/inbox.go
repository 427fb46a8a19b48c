package group

import "sync"

// inbox holds the events that Run has not handled. A caller of add does not wait for Run: ten thousand
// processes may end at once, and a goroutine for each would take more memory than their events.
type inbox struct {
	news chan struct{} // holds a token while there are events

	mu     sync.Mutex
	events []event
}

func newInbox() *inbox { return &inbox{news: make(chan struct{}, 1)} }

func (in *inbox) add(e event) {
	in.mu.Lock()
	in.events = append(in.events, e)
	in.mu.Unlock()
	select {
	case in.news <- struct{}{}:
	default:
	}
}

// takeAll returns the events, in the order in which they were added.
func (in *inbox) takeAll() []event {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := in.events
	in.events = nil
	return all
}
