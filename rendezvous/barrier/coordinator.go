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

// Config of a Coordinator.
type Config struct {
	Size  int
	Token []byte
	// Name is that of rank 0's pod, Job that of its job ("": not known), Settings what
	// rank 0 was told.
	Name     string
	Job      string
	Settings []Setting
	// Instance is that of rank 0's own card; see [Check] and Order.By.
	Instance string
	// Troubled, if set, is called when no member can connect because of a shortage,
	// and with nil when it is over.
	Troubled func(err error)
	// Deaf, if set, is called once when no member can connect any more.
	Deaf func(err error)
}

// Coordinator is rank 0's side. Its methods may be called from any goroutine.
type Coordinator struct {
	cfg Config
	wg  sync.WaitGroup

	mu       sync.Mutex
	seats    []*seat
	changed  chan struct{} // closed at the next change
	order    []byte        // the newest, encoded
	version  int           // of order
	reached  string        // our address, as members see it
	unproved []net.Conn    // oldest first
	closed   bool
}

// seat is a Seat with its connection.
type seat struct {
	Seat
	conn  *guest // nil: nobody is here
	heard time.Time
	work  []byte
	turn  int // version of work
	told  int // version of the order that this instance has been sent
}

// NewCoordinator makes one; Serve lets members in.
func NewCoordinator(cfg Config) *Coordinator {
	c := &Coordinator{cfg: cfg, changed: make(chan struct{})}
	for rank := range cfg.Size {
		c.seats = append(c.seats, &seat{Seat: Seat{Rank: rank, News: News{Attempt: -1}}})
	}
	return c
}

// Serve takes connections until ctx ends, then closes them all and returns nil. If
// accepting fails for good, Serve calls Config.Deaf, keeps the members that it has
// until ctx ends, and returns the error.
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

// Rest waits until ctx ends and every connection that was given to Take is
// closed; it is in the place of Serve where nobody listens.
func (c *Coordinator) Rest(ctx context.Context) {
	<-ctx.Done()
	c.shut()
}

// shut takes no more connections and waits for the ends of those there are.
func (c *Coordinator) shut() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wg.Wait()
}

// Take serves one connection in a goroutine of its own, which Serve or Rest waits for.
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

// Unproved is how many connections may be held before their proof, beside one
// for each rank.
const Unproved = 256

// hold counts a connection that has proved nothing; where there are too many the
// oldest goes: a member's proof takes a moment, who is slow is a stranger.
// Called with c.mu held.
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

// attend leads a connection from its proof to its end.
func (c *Coordinator) attend(ctx context.Context, nc net.Conn) {
	cn, claimed, err := welcome(nc, c.cfg.Token)
	c.release(nc)
	if errors.Is(err, ErrToken) {
		c.mistrust(claimed, nc.RemoteAddr())
		_ = cn.send(kindRefuse, nil) // it is a courtesy
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
	if refusal := c.admit(ctx, g, card); refusal != nil {
		_ = cn.say(kindRefuse, refusal)
		return
	}
	c.serve(ctx, g, card.Rank)
}

// mistrust takes down that somebody had another token; it cannot claim more than
// a rank, and the rank's seat is not touched.
func (c *Coordinator) mistrust(claimed int, from net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claimed < len(c.seats) && !c.seats[claimed].Here {
		c.seats[claimed].note(fmt.Sprintf("somebody at %s who calls itself rank %d has another token", hostOf(from), claimed))
		c.shout()
	}
}

func hostOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return "an unknown address"
}

// Tell gives every member an order, those too that come later, until the next.
func (c *Coordinator) Tell(o Order) error {
	o.By = c.cfg.Instance
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode an order: %w", err)
	}
	if len(text) > kindOrder.limit() {
		return fmt.Errorf("tell the members: an order of %d bytes, and %d is the most", len(text), kindOrder.limit())
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

// Flush waits until every member that is here has been sent the newest order, or
// ctx has ended.
func (c *Coordinator) Flush(ctx context.Context) {
	c.until(ctx, func(s *seat) bool { return s.conn == nil || s.told == c.version })
}

// Farewell waits until every member but rank 0 has been sent the newest order and
// has gone, or is away for so long that it is not coming back; or ctx has ended.
func (c *Coordinator) Farewell(ctx context.Context) {
	c.until(ctx, func(s *seat) bool {
		return s.Rank == 0 || s.conn == nil && (s.told == c.version || time.Since(s.Left) > Quiet)
	})
}

// until waits until every seat is as it should be; asked with c.mu held.
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

// Hand gives one member its own words, in the place of the last ones. They go to
// this instance only: a replacement gets none.
func (c *Coordinator) Hand(rank int, instance string, work []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.seats[rank]; s.Card.Instance == instance {
		s.work, s.turn = work, s.turn+1
		s.conn.poke()
	}
}

// Seats tells of every rank.
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

// shout tells of a change. Called with c.mu held.
func (c *Coordinator) shout() {
	close(c.changed)
	c.changed = make(chan struct{})
}
