package rendezvous

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// SpareSettle is how long no further worker may have become ready before spares take the places of
// workers that are only late. A cluster may have room for a spare, but not for the worker.
const SpareSettle = 30 * time.Second

// Seats says which workers take part in a run with spares, in the order of ranks: one worker for
// each seat. A worker without a seat is a spare. At first seat i belongs to the worker with index i.
// A seat is vacant when its worker is lost or was given up, and any spare may take it then.
//
// Seats is a pure state machine for one goroutine.
type Seats struct {
	holders []Worker        // by seat; the zero Worker: the seat is vacant
	owners  []Worker        // the last holders, for Swap
	begun   bool            // seats were taken before
	unfit   map[string]bool // by incarnation: given up for good
	losses  map[string]int  // by place: how often it became vacant
}

// Swap is a worker that took the seat of another one.
type Swap struct {
	Seat     int
	From, To Worker // From has no name if its pod never existed
}

// NewSeats returns n seats that nobody has taken.
func NewSeats(n int) *Seats {
	return &Seats{holders: make([]Worker, n), owners: make([]Worker, n), unfit: map[string]bool{}, losses: map[string]int{}}
}

// Number returns the number of seats.
func (s *Seats) Number() int { return len(s.holders) }

// incarnation tells one incarnation of a worker from the next.
func incarnation(w Worker) string { return w.UID + "/" + w.ContainerID }

// place is what a worker has in common with its replacement.
func place(w Worker) string {
	if w.Labelled {
		return strconv.Itoa(w.Index)
	}
	return w.Name
}

// Holds reports whether the worker with this name has a seat.
func (s *Seats) Holds(name string) bool {
	return slices.ContainsFunc(s.holders, func(w Worker) bool { return w.UID != "" && w.Name == name })
}

// Vacate empties the seat of a worker that is lost or given up. If unfit, this incarnation of the
// worker gets no seat any more, whether it had one or not.
func (s *Seats) Vacate(w Worker, unfit bool) {
	s.losses[place(w)]++
	if unfit {
		s.unfit[incarnation(w)] = true
	}
	for i, h := range s.holders {
		if h.UID != "" && incarnation(h) == incarnation(w) {
			s.holders[i] = Worker{}
		}
	}
}

// Choose returns a ready worker for each seat. It returns false while that is impossible, or while
// it waits for a worker to become ready. It does not wait for workers that are hopeless. If settled,
// it waits for none: spares take the seats of all workers that are not ready.
//
// all are the workers that exist, each once. Choose changes nothing; see Take.
func (s *Seats) Choose(all []Worker, ready, hopeless func(Worker) bool, settled bool) ([]Worker, bool) {
	chosen := make([]Worker, len(s.holders))
	seated := map[string]bool{}
	var vacant []int
	for i := range s.holders {
		w, exists, pending := s.expected(i, all)
		switch {
		case exists && ready(w) && !s.unfit[incarnation(w)]:
			chosen[i] = w
			seated[incarnation(w)] = true
		case (exists && !hopeless(w) && !s.unfit[incarnation(w)] || pending) && !settled:
			return nil, false
		default:
			vacant = append(vacant, i)
		}
	}
	free := s.free(all, ready, seated)
	if len(free) < len(vacant) {
		return nil, false
	}
	free = free[:len(vacant)]
	vacant = slices.DeleteFunc(vacant, func(seat int) bool { // a replacement keeps the place of its pod
		at := slices.IndexFunc(free, func(w Worker) bool { return s.begun && place(w) == place(s.owners[seat]) })
		if at >= 0 {
			chosen[seat] = free[at]
			free = slices.Delete(free, at, at+1)
		}
		return at >= 0
	})
	for n, seat := range vacant {
		chosen[seat] = free[n]
	}
	return chosen, true
}

// expected returns the worker that a seat waits for. pending means that it has no pod yet.
func (s *Seats) expected(seat int, all []Worker) (w Worker, exists, pending bool) {
	if s.begun {
		at := slices.IndexFunc(all, func(w Worker) bool { return incarnation(w) == incarnation(s.holders[seat]) })
		if s.holders[seat].UID == "" || at < 0 {
			return Worker{}, false, false // vacant
		}
		return all[at], true, false
	}
	numbered := false
	for _, w := range all {
		if w.Labelled && w.Index == seat {
			return w, true, false
		}
		numbered = numbered || w.Labelled
	}
	return Worker{}, false, numbered
}

// free returns the ready workers without a seat, those first whose places were vacant the least
// often: a node that failed once is likely to fail again.
func (s *Seats) free(all []Worker, ready func(Worker) bool, seated map[string]bool) []Worker {
	var free []Worker
	for _, w := range all {
		if ready(w) && !seated[incarnation(w)] && !s.unfit[incarnation(w)] {
			free = append(free, w)
		}
	}
	slices.SortStableFunc(free, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(s.losses[place(a)], s.losses[place(b)]), byIndex(a, b))
	})
	return free
}

// Take gives the seats to the workers that Choose returned. It returns the seats whose place in the
// job has changed.
func (s *Seats) Take(workers []Worker) (swaps []Swap) {
	for i, w := range workers {
		from := s.owners[i]
		if !s.begun && w.Labelled && w.Index != i || s.begun && place(from) != place(w) {
			swaps = append(swaps, Swap{Seat: i, From: from, To: w})
		}
		s.holders[i], s.owners[i] = w, w
	}
	s.begun = true
	return swaps
}
