package rendezvous_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/rendezvous"
)

// pool makes n labeled workers: w-0, w-1...
func pool(n int) []rendezvous.Worker {
	var all []rendezvous.Worker
	for i := range n {
		all = append(all, again(i, 0))
	}
	return all
}

// again makes an incarnation of worker i.
func again(i, number int) rendezvous.Worker {
	return rendezvous.Worker{Name: fmt.Sprintf("w-%d", i), UID: fmt.Sprintf("uid-%d-%d", i, number), Index: i, Labelled: true}
}

func among(indices ...int) func(rendezvous.Worker) bool {
	return func(w rendezvous.Worker) bool { return slices.Contains(indices, w.Index) }
}

func nameList(workers []rendezvous.Worker) []string {
	var list []string
	for _, w := range workers {
		list = append(list, w.Name)
	}
	return list
}

func TestSeatsAtTheStart(t *testing.T) {
	for _, c := range []struct {
		name     string
		all      []rendezvous.Worker
		ready    []int
		hopeless []int
		settled  bool
		want     []string // nil: wait
	}{
		{"all are ready", pool(4), []int{0, 1, 2, 3}, nil, false, []string{"w-0", "w-1", "w-2"}},
		{"spares are not waited for", pool(4), []int{0, 1, 2}, nil, false, []string{"w-0", "w-1", "w-2"}},
		{"a worker that is only late is waited for", pool(4), []int{0, 1, 3}, nil, false, nil},
		{"a worker without a pod is waited for", pool(4)[1:], []int{1, 2, 3}, nil, false, nil},
		{"a spare replaces a hopeless worker", pool(4), []int{0, 2, 3}, []int{1}, false, []string{"w-0", "w-3", "w-2"}},
		{"a spare replaces a late worker at last", pool(4), []int{0, 1, 3}, nil, true, []string{"w-0", "w-1", "w-3"}},
		{"a spare replaces a worker without a pod at last", pool(4)[1:], []int{1, 2, 3}, nil, true, []string{"w-3", "w-1", "w-2"}},
		{"too few spares", pool(4), []int{2, 3}, []int{0, 1}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, ok := rendezvous.NewSeats(3).Choose(c.all, among(c.ready...), among(c.hopeless...), c.settled)
			require.Equal(t, c.want != nil, ok)
			require.Equal(t, c.want, nameList(chosen))
		})
	}
}

func TestALostWorkersPodComesBackAsASpare(t *testing.T) {
	s, nobody := rendezvous.NewSeats(2), among()
	all := pool(3)
	chosen, _ := s.Choose(all, among(0, 1, 2), nobody, false)
	require.Empty(t, s.Take(chosen))
	s.Vacate(all[1], false)
	chosen, ok := s.Choose([]rendezvous.Worker{all[0], again(1, 1), all[2]}, among(0, 1, 2), nobody, false)
	require.True(t, ok)
	require.Equal(t, []string{"w-0", "w-2"}, nameList(chosen), "a place that was never lost comes first")
	require.Equal(t, []rendezvous.Swap{{Seat: 1, From: all[1], To: all[2]}}, s.Take(chosen))
	require.True(t, s.Holds("w-2"))
	require.False(t, s.Holds("w-1"))

	s.Vacate(all[2], false)
	chosen, ok = s.Choose([]rendezvous.Worker{all[0], again(1, 1)}, among(0, 1), nobody, false)
	require.True(t, ok)
	require.Equal(t, []string{"w-0", "w-1"}, nameList(chosen))
}

func TestAnUnfitWorkerGetsNoSeat(t *testing.T) {
	s, nobody := rendezvous.NewSeats(2), among()
	all := pool(3)
	chosen, _ := s.Choose(all, among(0, 1, 2), nobody, false)
	s.Take(chosen)
	s.Vacate(all[2], true) // a spare
	s.Vacate(all[1], true)
	_, ok := s.Choose(all, among(0, 1, 2), nobody, true)
	require.False(t, ok)
	chosen, ok = s.Choose([]rendezvous.Worker{all[0], again(1, 1), all[2]}, among(0, 1, 2), nobody, false)
	require.True(t, ok, "its replacement may take the seat")
	require.Equal(t, []string{"w-0", "w-1"}, nameList(chosen))
	require.Empty(t, s.Take(chosen), "the place in the job is the same")
}

// TestSeatsWhateverHappens lets random workers get lost, come back and become ready.
func TestSeatsWhateverHappens(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		seats, spares := 1+random.IntN(6), random.IntN(4)
		s, all, number := rendezvous.NewSeats(seats), pool(seats+spares), 0
		var held []rendezvous.Worker
		for range 30 {
			down := map[string]bool{}
			for i := range all {
				down[all[i].UID] = random.IntN(4) == 0
				if random.IntN(6) == 0 { // lost, and its pod is recreated
					s.Vacate(all[i], random.IntN(2) == 0)
					number++
					all[i] = again(i, number)
				}
			}
			ready := func(w rendezvous.Worker) bool { return !down[w.UID] }
			chosen, ok := s.Choose(all, ready, func(rendezvous.Worker) bool { return false }, random.IntN(2) == 0)
			if !ok {
				continue
			}
			require.Len(t, chosen, seats)
			uids := map[string]bool{}
			for i, w := range chosen {
				require.False(t, uids[w.UID], "a worker has two seats")
				uids[w.UID] = true
				require.True(t, ready(w))
				if held != nil && slices.ContainsFunc(all, func(w rendezvous.Worker) bool { return w.UID == held[i].UID && ready(w) }) {
					require.Equal(t, held[i].UID, w.UID, "a worker that is well keeps its seat")
				}
			}
			s.Take(chosen)
			held = chosen
		}
	}
}
