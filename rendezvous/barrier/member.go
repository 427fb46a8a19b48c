package barrier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/names"
)

const (
	firstPause = 50 * time.Millisecond
	lastPause  = 500 * time.Millisecond
	// perMember is added to the pauses for each member of a large job, so that the members do not
	// overload the DNS server while rank 0 is not there yet.
	perMember = 2 * time.Millisecond
	// mostPause is the limit for these pauses.
	mostPause = 5 * time.Second
	// mostDoubts is how often in a row the coordinator may have another token before a member that
	// was never admitted assumes that its own token is wrong.
	mostDoubts = 3
)

// Event is one report of a Member to its owner. Exactly one field is set.
type Event struct {
	Order *Order
	Work  []byte
	Back  bool  // the connection is there, or there again
	Away  error // the connection failed; once for each new reason
}

// MemberConfig configures a Member.
type MemberConfig struct {
	Card  Card
	Token []byte
	// Dial makes a connection to the coordinator.
	Dial func(context.Context) (net.Conn, error)
	// Interface, if set, returns the network interface of an address that is known only from the
	// connection.
	Interface func(address string) string
}

// Member is the side of every rank.
type Member struct {
	cfg    MemberConfig
	events chan Event

	mu      sync.Mutex
	news    News
	version int  // of news
	told    int  // version that was written last
	asked   bool // we must answer a ping
	wake    chan struct{}
}

// NewMember returns a Member. Run starts it.
func NewMember(cfg MemberConfig) *Member {
	return &Member{cfg: cfg, events: make(chan Event), wake: make(chan struct{}, 1), news: News{Attempt: -1}}
}

// Events returns what the coordinator says. The caller must read it.
func (m *Member) Events() <-chan Event { return m.events }

// Report tells the coordinator the state of the member, now and after each redial.
func (m *Member) Report(news News) {
	m.mu.Lock()
	m.news = news
	m.version++
	m.mu.Unlock()
	m.poke()
}

// Flush waits until the newest news were written, or until ctx ends.
func (m *Member) Flush(ctx context.Context) {
	for ctx.Err() == nil {
		m.mu.Lock()
		done := m.told >= m.version
		m.mu.Unlock()
		if done {
			return
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

func (m *Member) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run keeps a connection to the coordinator until ctx ends (nil), or until the coordinator refuses
// the member (*Refusal).
func (m *Member) Run(ctx context.Context) error {
	most := min(max(lastPause, time.Duration(m.cfg.Card.Size)*perMember), mostPause)
	pause, doubts, entered := firstPause, 0, false
	last := ""
	for ctx.Err() == nil {
		welcomed, err := m.attend(ctx)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			return refusal
		}
		if welcomed {
			pause, entered, last = firstPause, true, ""
		}
		if doubts++; !errors.Is(err, ErrToken) {
			doubts = 0
		}
		if doubts == mostDoubts && !entered {
			return &Refusal{Code: names.ExitHopeless, Text: "rank 0 has another token",
				Hint: "give every member the same MUSTER_TOKEN or --token-file, from one Secret; a pod that was made before the Secret changed has the old one"}
		}
		if text := err.Error(); ctx.Err() == nil && text != last {
			last = text
			m.tell(ctx, Event{Away: err})
		}
		sleep(ctx, pause/2+rand.N(pause/2))
		pause = min(2*pause, most)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tell passes an event to the owner.
func (m *Member) tell(ctx context.Context, e Event) {
	select {
	case m.events <- e:
	case <-ctx.Done():
	}
}

// attend makes a connection and uses it until it ends. The error is never nil. welcomed reports
// whether the member was admitted.
func (m *Member) attend(ctx context.Context) (welcomed bool, err error) {
	nc, err := m.cfg.Dial(ctx)
	if err != nil {
		return false, err
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	card := m.cfg.Card
	if local, ok := nc.LocalAddr().(*net.TCPAddr); ok && card.Address == "" {
		card.Address = local.IP.String()
		if m.cfg.Interface != nil && card.Interface == "" {
			card.Interface = m.cfg.Interface(card.Address)
		}
	}
	c, err := introduce(nc, m.cfg.Token, card)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	sent := make(chan struct{})
	go func() { // first, because an owner that leaves reads no event before Flush
		defer close(sent)
		m.send(ctx, c)
	}()
	defer func() { cancel(); nc.Close(); <-sent }()
	m.tell(ctx, Event{Back: true})
	return true, m.receive(ctx, c)
}

// introduce proves the token and sends the card.
func introduce(nc net.Conn, token []byte, card Card) (*conn, error) {
	c, err := enter(nc, token, card.Rank)
	if err != nil {
		return nil, err
	}
	return c, c.say(kindCard, card)
}

// receive passes on what the coordinator sends.
func (m *Member) receive(ctx context.Context, c *conn) error {
	for {
		k, payload, err := c.receive(Quiet)
		if err != nil {
			return err
		}
		switch k {
		case kindRefuse:
			refusal := &Refusal{}
			if err := decode(payload, refusal); err != nil {
				return err
			}
			return refusal
		case kindOrder:
			order := &Order{}
			if err := decode(payload, order); err != nil {
				return err
			}
			m.tell(ctx, Event{Order: order})
		case kindWork:
			m.tell(ctx, Event{Work: payload})
		case kindPing:
			m.mu.Lock()
			m.asked = true
			m.mu.Unlock()
			m.poke()
		case kindPong:
		default:
			return fmt.Errorf("%w: unexpected frame of kind %d from rank 0", ErrProtocol, k)
		}
	}
}

// send sends news when there are any, and pings.
func (m *Member) send(ctx context.Context, c *conn) {
	defer c.Close()
	said := -1
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		m.mu.Lock()
		news, version, asked := m.news, m.version, m.asked
		m.asked = false
		m.mu.Unlock()
		var err error
		switch {
		case version != said:
			said, err = version, c.say(kindNews, news)
		case asked:
			err = c.send(kindPong, nil)
		}
		if err != nil {
			return
		}
		m.mu.Lock()
		m.told = max(m.told, said)
		m.mu.Unlock()
		select {
		case <-m.wake:
		case <-tick.C:
			if c.send(kindPing, nil) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Check asks the server at the other end of nc whether it is the coordinator of this card's
// instance. It returns nil if it is, or if that cannot be determined. Otherwise it returns the
// refusal of the other coordinator.
func Check(nc net.Conn, token []byte, card Card) *Refusal {
	defer nc.Close()
	c, err := introduce(nc, token, card)
	if err != nil {
		return nil
	}
	payload, err := c.expect(kindRefuse)
	refusal := &Refusal{}
	if err != nil || decode(payload, refusal) != nil || refusal.Code == 0 {
		return nil
	}
	return refusal
}
