package preflight

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/exec/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a network of workers that answer without a link.
type world struct {
	mu       sync.Mutex
	asked    map[string]int // facts by worker
	dials    int
	cut      func(from, to string) bool // nil: all connect
	slow     string                     // the worker with slow transfers
	recovers int                        // the number of connections after which it is as fast as the others; 0: never
}

// actor is a worker of a world.
type actor struct {
	*world
	name string
	port int
	err  error // it cannot be asked
	hang bool  // it does not answer
}

func (a *actor) Facts(ctx context.Context, _ wire.AskFactsRecord) (wire.FactsRecord, error) {
	a.mu.Lock()
	a.asked[a.name]++
	a.mu.Unlock()
	if a.hang {
		<-ctx.Done()
		return wire.FactsRecord{}, context.Cause(ctx)
	}
	none := wire.Unlimited
	return wire.FactsRecord{NowMillis: time.Now().UnixMilli(), Shm: &wire.Space{Size: 1 << 30, Free: 1 << 30}, Disk: &wire.Space{Size: 1 << 40, Free: 1 << 40},
		OpenFiles: &none, Pids: &none, Memory: &none, CPU: &none}, a.err
}

func (a *actor) Listen(ctx context.Context, _ wire.AskListenRecord) (int, error) {
	if a.hang {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return a.port, a.err
}

func (a *actor) Dial(_ context.Context, ask wire.AskDialRecord) ([]wire.PairRecord, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []wire.PairRecord
	for _, p := range ask.Peers {
		a.dials++
		rec := wire.PairRecord{Worker: p.Worker, RoundTripMicros: 100, Bytes: ask.Bytes}
		if ask.Bytes > 0 {
			rec.Micros = 10_000 * ask.Bytes / sendBytes
			if (a.slow == a.name || a.slow == p.Worker) && (a.recovers == 0 || a.dials <= a.recovers) {
				rec.Micros *= 100
			}
		}
		if a.cut != nil && a.cut(a.name, p.Worker) {
			rec = wire.PairRecord{Worker: p.Worker, Error: "no answer"}
		}
		found = append(found, rec)
	}
	return found, nil
}

func (w *world) question(n int) Question {
	w.asked = map[string]int{}
	q := Question{Seed: 1}
	for i := range n {
		name := "w" + strconv.Itoa(i)
		q.Subjects = append(q.Subjects, Subject{Worker: check.Worker{Name: name, Node: "n" + strconv.Itoa(i)}, ID: name + "-a", Address: net.IPv4(198, 18, 0, byte(i+1)).String(), Asker: &actor{world: w, name: name, port: 1000 + i}})
	}
	return q
}

// bad lists the findings that are not ok.
func bad(found []check.Finding) (list []string) {
	for _, f := range found {
		if f.Verdict != check.OK {
			list = append(list, fmt.Sprintf("%s %s %s: %s", f.Verdict, f.Check, f.Of, f.Found))
		}
	}
	return list
}

func TestAllIsWell(t *testing.T) {
	var w world
	var p Preflight
	found := p.Look(t.Context(), w.question(6))
	require.Empty(t, bad(found))
	require.Equal(t, check.OK, check.Worst(found))
	require.NotEmpty(t, found)
	require.Greater(t, w.dials, 15)
}

// TestNewcomersAreAsked checks that a restart asks only the workers that are new, and connects them
// with the others.
func TestNewcomersAreAsked(t *testing.T) {
	var w world
	var p Preflight
	q := w.question(6)
	p.Look(t.Context(), q)
	w.dials = 0
	require.Nil(t, p.Look(t.Context(), q))
	require.Zero(t, w.dials)

	q.Subjects[2].ID = "w2-b"
	require.NotEmpty(t, p.Look(t.Context(), q))
	for name, times := range w.asked {
		require.Equal(t, map[bool]int{true: 2, false: 1}[name == "w2"], times, name)
	}
	require.GreaterOrEqual(t, w.dials, 5)

	q.Again = true
	p.Look(t.Context(), q)
	require.Equal(t, 2, w.asked["w0"])
}

// TestADoctorLeavesNewcomers checks that a worker which is first asked by agent doctor, without the
// user's command, is checked again before ranks start there.
func TestADoctorLeavesNewcomers(t *testing.T) {
	var w world
	var p Preflight
	p.Look(t.Context(), w.question(2))
	q := w.question(3)
	q.Again = true
	p.Look(t.Context(), q)
	require.NotEmpty(t, p.Look(t.Context(), w.question(3)), "the third one is new")
	require.Empty(t, p.Look(t.Context(), w.question(3)))
}

func TestACutWorkerIsNamed(t *testing.T) {
	w := world{cut: func(from, to string) bool { return from == "w4" || to == "w4" }}
	var p Preflight
	q := w.question(6)
	found := p.Look(t.Context(), q)
	require.Equal(t, []string{"fail connect w4: 5 of its 5 connections with other workers failed: no answer"}, bad(found))
	require.Equal(t, "n4", found[0].Node)
	require.Equal(t, []string{"w4"}, check.Bad(found))
	require.Equal(t, []string{"w4"}, check.Bad(p.Look(t.Context(), q)), "a worker that failed is checked again")
}

func TestASlowWorkerIsNamed(t *testing.T) {
	w := world{slow: "w1"}
	var p Preflight
	found := bad(p.Look(t.Context(), w.question(8)))
	require.NotEmpty(t, found)
	for _, f := range found {
		require.True(t, strings.HasPrefix(f, "warn throughput w1: it "), f)
	}
}

// TestAWorkerThatWasSlowOnceIsNotNamed checks that the network is measured again before a worker is
// named.
func TestAWorkerThatWasSlowOnceIsNotNamed(t *testing.T) {
	w := world{slow: "w1", recovers: 36} // 28 pairs, and 2 rounds of 4 transfers
	var p Preflight
	require.Empty(t, bad(p.Look(t.Context(), w.question(8))))
	require.Greater(t, w.dials, 36)
}

// TestOldWorkersAreUnknown checks that a worker that cannot be asked is unknown, and never ok.
func TestOldWorkersAreUnknown(t *testing.T) {
	var w world
	var p Preflight
	q := w.question(3)
	q.Subjects[1].Asker.(*actor).err = errors.New("the agent of the worker is too old to be checked")
	require.ElementsMatch(t, []string{
		"unknown program w1: the worker was not checked: the agent of the worker is too old to be checked",
		"unknown connect w1: its network was not checked: the agent of the worker is too old to be checked",
	}, bad(p.Look(t.Context(), q)))
}

// TestASilentWorker checks that a worker that does not answer ends the wait for it alone.
func TestASilentWorker(t *testing.T) {
	var w world
	var p Preflight
	q := w.question(3)
	q.Subjects[1].Asker.(*actor).hang = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Len(t, bad(p.Look(ctx, q)), 2)
	require.NotEmpty(t, p.Look(ctx, q), "it must be asked again")
}

// TestFakeWorkersTransferNothing checks that the speed of one machine's memory is not measured.
func TestFakeWorkersTransferNothing(t *testing.T) {
	w := world{slow: "w1"}
	q := w.question(8)
	for i := range q.Subjects {
		q.Subjects[i].Worker.Fake = true
	}
	var p Preflight
	require.Empty(t, bad(p.Look(t.Context(), q)))
	require.Equal(t, 28, w.dials)
}

func TestSentences(t *testing.T) {
	one := func(of string, v check.Verdict, found string) check.Finding {
		return check.Finding{Check: "shm", Of: of, Node: "n-" + of, Verdict: v, Found: found, Remedy: "set spec.shm"}
	}
	require.Empty(t, Sentences([]check.Finding{one("a", check.OK, "fine"), one("b", check.Unknown, "not known")}))
	require.Equal(t, []Sentence{
		{"preflight: a on n-a: it is full", "set spec.shm"},
		{"preflight: b and c: it is small", "set spec.shm"},
		{"preflight: d, e and 1 more: it is odd", "set spec.shm"},
	}, Sentences([]check.Finding{
		one("a", check.Fail, "it is full"), one("b", check.Warn, "it is small"), one("c", check.Warn, "it is small"),
		one("d", check.Warn, "it is odd"), one("e", check.Warn, "it is odd"), one("f", check.Warn, "it is odd"),
	}))
	var many []check.Finding
	for i := range 9 {
		many = append(many, one("a", check.Warn, strconv.Itoa(i)))
	}
	last := Sentences(many)
	require.Len(t, last, mostSentences+1)
	require.Equal(t, "preflight: 4 more findings", last[mostSentences].Text)
	require.Equal(t, []Sentence{{"preflight: two versions", ""}}, Sentences([]check.Finding{{Verdict: check.Warn, Found: "two versions"}}))
}
