package sample

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// worker has processes with ranks, each of which uses half a processor, and starts one more.
type worker struct {
	ranks []string
	left  int
	began time.Time
	err   error
	dead  bool // it never answers
}

func (w *worker) Ask(ctx context.Context) (wire.AnswerRecord, error) {
	if w.dead {
		<-ctx.Done()
		return wire.AnswerRecord{}, ctx.Err()
	}
	age := time.Since(w.began).Milliseconds()
	list := []wire.ProcessRecord{{PID: 1, CPU: 77}}
	for i, rank := range w.ranks {
		list = append(list, wire.ProcessRecord{PID: i + 2, Start: 5, Rank: rank, CPU: 100 + age/2})
	}
	if age > 0 {
		list = append(list, wire.ProcessRecord{PID: 99, Start: uint64(age), CPU: 200})
	}
	return wire.AnswerRecord{Left: w.left, Sessions: []wire.SessionRecord{{Processes: list}}}, w.err
}

func (w *worker) Facts(context.Context, wire.AskFactsRecord) (wire.FactsRecord, error) {
	return wire.FactsRecord{MemoryUsed: int64(len(w.ranks)) << 20}, nil
}

func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		all := map[string]*worker{
			"two":      {ranks: []string{"3", "4", "4", ""}, began: now},
			"too many": {ranks: []string{"5"}, left: 1, began: now},
			"lost":     {err: errors.New("the link is down"), began: now},
			"dead":     {dead: true},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got := Take(ctx, all, true)
		require.Len(t, got, 2)
		cpu, memory, one := int64(4*500+200), int64(4<<20), int64(1<<20)
		require.Equal(t, Use{Ranks: []int{3, 4, 4}, CPU: &cpu, Memory: &memory}, got["two"])
		require.Equal(t, Use{Ranks: []int{5}, Memory: &one}, got["too many"], "not all processes are known")
		delete(all, "dead")
		require.Nil(t, Take(ctx, all, false)["two"].Memory)
		places, _ := Places(t.Context(), all)
		require.Equal(t, map[int]string{3: "two", 4: "two", 5: "too many"}, places)
		for _, name := range []string{"too many", "lost"} {
			_, whole := Places(t.Context(), map[string]*worker{"two": all["two"], name: all[name]})
			require.False(t, whole, name)
		}
		_, whole := Places(t.Context(), map[string]*worker{"two": all["two"]})
		require.True(t, whole)
	})
}
