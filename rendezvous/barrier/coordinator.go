package barrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/shortage"
)

// Config configures a Coordinator.
type Config struct {
	Size  int
	Token []byte
	// Name is the pod of rank 0, and Job is its job ("" if not known). Settings are those of rank
	// 0.
	Name     string
	Job      string
	Settings []Setting
	// Instance is the instance in rank 0's own card; see [Check] and Order.By.
	Instance string
	// Troubled, if set, is called when no member can connect because of a resource shortage, and
	// with nil when the shortage has ended.
	Troubled func(err error)
	// Deaf, if set, is called once when members can no longer connect at all.
	Deaf func(err error)
}

// Coordinator is the side of rank 0. Its methods may be called from any goroutine.
type Coordinator struct {
	cfg Config
	wg  sync.WaitGroup

	mu       sync.Mutex
	seats    []*seat
	changed  chan struct{} // closed at the next change
	order    []byte        // the newest order, encoded
	version  int           // of order
	changes  int           // how often a seat has changed
	turns    chan struct{} // one for each long order that is being sent
	reached  string        // our address, as members see it
	unproved []net.Conn    // oldest first
	closed   bool
}

// seat is a Seat with its connection.
type seat struct {
	Seat
	conn  *guest // nil if no member is connected
	heard time.Time
	work  []byte
	turn  int // version of work
	told  int // version of the newest order that this instance was sent
}

// NewCoordinator returns a Coordinator. Serve admits members.
func NewCoordinator(cfg Config) *Coordinator {
	c := &Coordinator{cfg: cfg, changed: make(chan struct{}), turns: make(chan struct{}, mostTurns)}
	for rank := range cfg.Size {
		c.seats = append(c.seats, &seat{Seat: Seat{Rank: rank, News: News{Attempt: -1}}})
	}
	return c
}

// Serve accepts connections until ctx ends, then closes them all and returns nil. If accepting
// fails permanently, Serve calls Config.Deaf, keeps its members until ctx ends, and returns the
// error.
func (c *Coordinator) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.shut()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	err := shortage.Accept(ctx, l, func(nc net.Conn) { c.Take(ctx, nc) }, func(err error) {
		if c.cfg.Troubled != nil {
			c.cfg.Troubled(err)
		}
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("serve the barrier: %w", err)
	if c.cfg.Deaf != nil {
		c.cfg.Deaf(err)
	}
	<-ctx.Done()
	return err
}

// Rest waits until ctx ends and every connection that was passed to Take is closed. Use it in place
// of Serve if there is no listener.
func (c *Coordinator) Rest(ctx context.Context) {
	<-ctx.Done()
	c.shut()
}

// shut rejects further connections and waits for the end of the existing ones.
func (c *Coordinator) shut() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wg.Wait()
}

// Take serves one connection in its own goroutine, for which Serve or Rest waits.
func (c *Coordinator) Take(ctx context.Context, nc net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		nc.Close()
		return
	}
	c.hold(nc)
	c.wg.Go(func() {
		stop := context.AfterFunc(ctx, func() { nc.Close() })
		defer stop()
		defer nc.Close()
		c.attend(ctx, nc)
	})
}

// Unproved is how many connections may be open before their proof, in addition to one for each
// rank.
const Unproved = 256

// hold registers a connection that has proved nothing. If there are too many, it closes the oldest:
// the proof of a member takes only a moment, so a slow connection is a stranger. Called with c.mu
// held.
func (c *Coordinator) hold(nc net.Conn) {
	c.unproved = append(c.unproved, nc)
	if len(c.unproved) > Unproved+c.cfg.Size {
		c.unproved[0].Close()
		c.unproved = c.unproved[1:]
	}
}

func (c *Coordinator) release(nc net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.unproved {
		if other == nc {
			c.unproved = append(c.unproved[:i], c.unproved[i+1:]...)
			return
		}
	}
}

// attend serves a connection from its proof to its end.
func (c *Coordinator) attend(ctx context.Context, nc net.Conn) {
	cn, claimed, err := welcome(nc, c.cfg.Token)
	c.release(nc)
	if errors.Is(err, ErrToken) {
		c.mistrust(claimed, nc.RemoteAddr())
		_ = cn.send(kindRefuse, nil) // only a courtesy
	}
	if err != nil {
		return
	}
	payload, err := cn.expect(kindCard)
	if err != nil {
		return
	}
	var card Card
	if decode(payload, &card) != nil || card.Rank != claimed {
		return
	}
	g := &guest{conn: cn, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	seated, refusal := c.admit(ctx, g, card)
	if refusal != nil {
		_ = cn.say(kindRefuse, refusal)
	}
	if seated {
		c.serve(ctx, g, card.Rank)
	}
}

// mistrust records that a peer had another token. The peer only claims a rank, so the seat of that
// rank stays as it is.
func (c *Coordinator) mistrust(claimed int, from net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claimed < len(c.seats) && !c.seats[claimed].Here {
		c.seats[claimed].note(fmt.Sprintf("a process at %s that claims rank %d has another token", hostOf(from), claimed))
		c.shout()
	}
}

func hostOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return "an unknown address"
}

// Tell sets the order for every member, including those that connect later, until the next Tell.
func (c *Coordinator) Tell(o Order) error {
	o.By = c.cfg.Instance
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode an order: %w", err)
	}
	if len(text) > kindOrder.limit() {
		return fmt.Errorf("tell the members: order is too long: %d bytes, at most %d", len(text), kindOrder.limit())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = text
	c.version++
	for _, s := range c.seats {
		s.conn.poke()
	}
	return nil
}

// Flush waits until every connected member has been sent the newest order, or until ctx ends.
func (c *Coordinator) Flush(ctx context.Context) {
	c.until(ctx, func(s *seat) bool { return s.conn == nil || s.told == c.version })
}

// Farewell waits until every member except rank 0 has been sent the newest order and has
// disconnected, or has been away so long that it will not return. It also returns when ctx ends.
func (c *Coordinator) Farewell(ctx context.Context) {
	c.until(ctx, func(s *seat) bool {
		return s.Rank == 0 || s.conn == nil && (s.told == c.version || time.Since(s.Left) > Quiet)
	})
}

// until waits until ok holds for every seat. It calls ok with c.mu held.
func (c *Coordinator) until(ctx context.Context, ok func(*seat) bool) {
	for ctx.Err() == nil {
		c.mu.Lock()
		late := slices.ContainsFunc(c.seats, func(s *seat) bool { return !ok(s) })
		c.mu.Unlock()
		if !late {
			return
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

// Hand sets the work of one member, replacing the last one. Only this instance gets it; a
// replacement does not.
func (c *Coordinator) Hand(rank int, instance string, work []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.seats[rank]; s.Card.Instance == instance {
		s.work, s.turn = work, s.turn+1
		s.conn.poke()
	}
}

// Seats returns the seats of all ranks.
func (c *Coordinator) Seats() []Seat {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Seat, len(c.seats))
	for i, s := range c.seats {
		all[i] = s.Seat
	}
	return all
}

// Changed returns a channel that is closed when a seat changes.
func (c *Coordinator) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// change returns what Changed does, and how often a seat has changed.
func (c *Coordinator) change() (<-chan struct{}, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.changes
}

// shout reports a change of one seat. Called with c.mu held.
func (c *Coordinator) shout() {
	c.changes++
	close(c.changed)
	c.changed = make(chan struct{})
}
