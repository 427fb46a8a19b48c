package preflight

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/exec/wire"
)

// Modes: what to do with the findings.
const (
	Off  = "off"
	Warn = "warn"
	Fail = "fail"
)

// How long each part may take. A worker that does not answer in time is unknown.
const (
	factsTime   = 5 * time.Second
	listenTime  = 2 * time.Second
	listenLife  = 30 * time.Second
	connectTime = time.Second // for one pair
	dialTime    = 8 * time.Second
	sendTime    = 50 * time.Millisecond // a transfer, of at most sendBytes
	sendBytes   = 2 << 20
)

// mostAsked bounds the number of workers that are asked at a time.
const mostAsked = 256

// Asker asks one worker.
type Asker interface {
	// Facts returns what the worker sees of its container and node.
	Facts(ctx context.Context, ask wire.AskFactsRecord) (wire.FactsRecord, error)
	// Listen makes the worker listen for its peers.
	Listen(ctx context.Context, ask wire.AskListenRecord) (port int, err error)
	// Dial makes the worker connect to peers, and returns what it found out about each.
	Dial(ctx context.Context, ask wire.AskDialRecord) ([]wire.PairRecord, error)
}

// Subject is a worker to check.
type Subject struct {
	// Worker has what is known without asking the worker.
	Worker check.Worker
	ID     string // of its incarnation: another one is checked again
	// Address is where it listens for other workers.
	Address string
	Asker   Asker
	// Run runs a shell command there, and writes its output to out. When ctx ends, everything that
	// it has started is killed, and the error is the cause. exit is "" for exit code 0.
	Run func(ctx context.Context, line string, out io.Writer) (exit string, err error)
}

// Question is what to look at.
type Question struct {
	Job      check.Job
	Ask      wire.AskFactsRecord
	Subjects []Subject
	Seed     uint64 // chooses pairs
	// Command is the user's own check of each worker; "": none. It may take Limit.
	Command string
	Limit   time.Duration
	// Group runs the user's check of all workers together; nil: none.
	Group   func(ctx context.Context) check.Finding
	Regroup bool // Group is due although no subject is new
	// Again checks all workers beside running ranks, even if they were checked before. New ones stay
	// new.
	Again bool
}

// Preflight remembers which workers have been checked. Its zero value has checked none.
type Preflight struct {
	looking sync.Mutex // held by Look: a worker answers one question of a kind at a time
	mu      sync.Mutex
	checked map[string]check.Worker // by ID
}

// Look checks the subjects that are new, and returns the findings, the worst first. It returns none
// if no subject is new. Errors are findings too: what could not be found out is unknown.
func (p *Preflight) Look(ctx context.Context, q Question) []check.Finding {
	p.looking.Lock()
	defer p.looking.Unlock()
	fresh, newcomers := p.fresh(q)
	l := &look{q: q, fresh: fresh, nodes: map[string]string{}, ports: make([]int, len(q.Subjects))}
	if len(fresh) == 0 {
		if q.Regroup {
			l.commands(ctx)
		}
		return l.found
	}
	l.token = make([]byte, wire.PairTokenSize)
	rand.Read(l.token) // never fails
	for _, s := range q.Subjects {
		l.nodes[s.Worker.Name] = s.Worker.Node
	}
	l.survey(ctx)
	p.remember(l)
	l.found = append(l.found, check.OfAllWorkers(q.Job, p.known(q))...)
	l.network(ctx)
	l.commands(ctx)
	check.Sort(l.found)
	forgotten := check.Bad(l.found)
	if q.Again {
		forgotten = append(forgotten, newcomers...) // they have not passed the user's command
	}
	p.forget(q, forgotten)
	return l.found
}

// fresh returns the indices of subjects that have to be checked. newcomers are the names of workers
// that have never been checked.
func (p *Preflight) fresh(q Question) (fresh map[int]bool, newcomers []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh = map[int]bool{}
	for i, s := range q.Subjects {
		_, known := p.checked[s.ID]
		if !known {
			newcomers = append(newcomers, s.Worker.Name)
		}
		if !known || q.Again {
			fresh[i] = true
		}
	}
	return fresh, newcomers
}

func (p *Preflight) remember(l *look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checked == nil {
		p.checked = map[string]check.Worker{}
	}
	for _, w := range l.workers {
		p.checked[w.id] = w.Worker
	}
}

// forget makes the next Look check these workers again.
func (p *Preflight) forget(q Question, workers []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range q.Subjects {
		if slices.Contains(workers, s.Worker.Name) {
			delete(p.checked, s.ID)
		}
	}
}

// known returns what is known about all subjects that have answered, now or before.
func (p *Preflight) known(q Question) []check.Worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []check.Worker
	for _, s := range q.Subjects {
		if w, ok := p.checked[s.ID]; ok {
			all = append(all, w)
		}
	}
	return all
}

// look is one call of Look.
type look struct {
	q     Question
	fresh map[int]bool // by index of the subject
	nodes map[string]string
	token []byte

	mu      sync.Mutex
	ports   []int // by index; 0: it does not listen
	workers []answered
	found   []check.Finding
}

type answered struct {
	check.Worker
	id string
}

// each calls do for subjects in parallel, and waits.
func (l *look) each(do func(i int, s Subject)) {
	var all sync.WaitGroup
	turn := make(chan struct{}, mostAsked)
	for i, s := range l.q.Subjects {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			do(i, s)
		})
	}
	all.Wait()
}

// survey asks new workers for facts, and all for a port.
func (l *look) survey(ctx context.Context) {
	l.each(func(i int, s Subject) {
		var listening sync.WaitGroup
		listening.Go(func() { l.listen(ctx, i, s) })
		if l.fresh[i] {
			l.facts(ctx, s)
		}
		listening.Wait()
	})
}

// facts asks one worker, and judges the answer.
func (l *look) facts(ctx context.Context, s Subject) {
	ctx, stop := context.WithTimeoutCause(ctx, factsTime, errNoAnswer)
	defer stop()
	asked := time.Now()
	facts, err := s.Asker.Facts(ctx, l.q.Ask)
	took := time.Since(asked)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.found = append(l.found, check.Unchecked(s.Worker.Name, s.Worker.Node, err))
		return
	}
	w := s.Worker
	w.Facts = facts
	// The worker reads its clock between the question and the answer.
	w.Ahead, w.Doubt = time.UnixMilli(facts.NowMillis).Sub(asked.Add(took/2)), took/2+time.Millisecond
	l.workers = append(l.workers, answered{w, s.ID})
	l.found = append(l.found, check.OfOne(l.q.Job, w)...)
}

func (l *look) listen(ctx context.Context, i int, s Subject) {
	if s.Address == "" || len(l.q.Subjects) < 2 {
		return
	}
	ctx, stop := context.WithTimeout(ctx, listenTime)
	defer stop()
	port, err := s.Asker.Listen(ctx, wire.AskListenRecord{Address: s.Address, Token: l.token, LifeMillis: listenLife.Milliseconds()})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.ports[i] = port
	} else if l.fresh[i] {
		l.found = append(l.found, check.Unpaired(s.Worker.Name, s.Worker.Node, err))
	}
}

// network judges the pairs. It measures workers that look slow again.
func (l *look) network(ctx context.Context) {
	pairs := l.measure(ctx)
	found := check.OfPairs(pairs, l.nodes)
	if slow := check.Outliers(found); len(slow) > 0 {
		found = check.OfPairs(merge(append(pairs, l.again(ctx, slow)...)), l.nodes)
	}
	l.found = append(l.found, found...)
}

// measure connects the pairs that the seed chooses, and lets them send to each other.
func (l *look) measure(ctx context.Context) []check.Pair {
	if l.fake() {
		return l.dial(ctx, pairing(l.ports, l.nodesOf(), l.fresh, l.q.Seed, allNodesHere), wire.AskDialRecord{})
	}
	pairs := l.dial(ctx, pairing(l.ports, l.nodesOf(), l.fresh, l.q.Seed, allNodes), wire.AskDialRecord{})
	for _, round := range rounds(l.ports, l.fresh, l.q.Seed) {
		pairs = append(pairs, l.dial(ctx, round, wire.AskDialRecord{Bytes: sendBytes, TransferMillis: sendTime.Milliseconds()})...)
	}
	return merge(pairs)
}

// nodesOf returns the node of each subject.
func (l *look) nodesOf() []string {
	nodes := make([]string, len(l.q.Subjects))
	for i, s := range l.q.Subjects {
		nodes[i] = s.Worker.Node
	}
	return nodes
}

// fake reports whether the network of the workers is the memory of one machine.
func (l *look) fake() bool { return l.q.Subjects[0].Worker.Fake }

// again measures workers that look slow, with other peers and one after the other.
func (l *look) again(ctx context.Context, slow []string) (pairs []check.Pair) {
	ask := wire.AskDialRecord{Bytes: sendBytes, TransferMillis: sendTime.Milliseconds()}
	if l.fake() {
		ask = wire.AskDialRecord{}
	}
	suspect := map[int]bool{}
	for i, s := range l.q.Subjects {
		suspect[i] = slices.Contains(slow, s.Worker.Name)
	}
	for _, round := range suspects(l.ports, suspect, l.q.Seed) {
		pairs = append(pairs, l.dial(ctx, round, ask)...)
	}
	return pairs
}

// dial lets workers connect to others: from index to indices.
func (l *look) dial(ctx context.Context, plan map[int][]int, ask wire.AskDialRecord) []check.Pair {
	var pairs []check.Pair
	var mu sync.Mutex
	l.each(func(i int, s Subject) {
		if len(plan[i]) == 0 {
			return
		}
		ctx, stop := context.WithTimeoutCause(ctx, dialTime, errNoAnswer)
		defer stop()
		ask := ask
		ask.From, ask.Token, ask.TimeoutMillis = s.Address, l.token, connectTime.Milliseconds()
		for _, to := range plan[i] {
			peer := l.q.Subjects[to]
			ask.Peers = append(ask.Peers, wire.PeerRecord{Worker: peer.Worker.Name, Address: net.JoinHostPort(peer.Address, strconv.Itoa(l.ports[to]))})
		}
		answer, err := s.Asker.Dial(ctx, ask)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			l.mu.Lock()
			l.found = append(l.found, check.Unpaired(s.Worker.Name, s.Worker.Node, err))
			l.mu.Unlock()
			return
		}
		for _, rec := range answer {
			pairs = append(pairs, pairOf(s.Worker.Name, rec))
		}
	})
	return pairs
}

func pairOf(from string, rec wire.PairRecord) check.Pair {
	p := check.Pair{From: from, To: rec.Worker, Error: rec.Error, RoundTrip: time.Duration(rec.RoundTripMicros) * time.Microsecond}
	if rec.Micros > 0 {
		p.Rate = float64(rec.Bytes) / (time.Duration(rec.Micros) * time.Microsecond).Seconds()
	}
	return p
}

// merge drops later failures of pairs that have failed before.
func merge(pairs []check.Pair) []check.Pair {
	failed := map[[2]string]bool{}
	kept := pairs[:0]
	for _, p := range pairs {
		key := [2]string{min(p.From, p.To), max(p.From, p.To)}
		if p.Error != "" && failed[key] {
			continue
		}
		failed[key] = failed[key] || p.Error != ""
		kept = append(kept, p)
	}
	return kept
}
