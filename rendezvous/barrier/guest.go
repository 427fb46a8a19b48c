package barrier

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// guest is an admitted connection.
type guest struct {
	*conn
	wake chan struct{} // holds a token while there may be data to send
	gone chan struct{} // closed when the connection has ended
	ask  bool          // to ping the member; protected by the coordinator's lock, like the fields below
	echo bool          // the member has pinged us
	said int           // version of the order that was sent last
	turn int           // version of the work that was sent last
}

// poke makes the sender check for data to send.
func (g *guest) poke() {
	if g == nil {
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// serve receives from an admitted member until its connection ends.
func (c *Coordinator) serve(ctx context.Context, g *guest, rank int) {
	done, cancel := context.WithCancel(ctx)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.dispatch(done, g, rank)
	}()
	why := c.listen(g, rank)
	cancel()
	g.Close()
	<-sent
	c.leave(g, rank, why)
}

// listen handles the frames of a member. It returns how the connection ended.
func (c *Coordinator) listen(g *guest, rank int) error {
	for {
		k, payload, err := g.receive(Quiet)
		if err != nil {
			return err
		}
		var news News
		if k == kindNews {
			if err := decode(payload, &news); err != nil {
				return err
			}
		}
		c.mu.Lock()
		s := c.seats[rank]
		if s.conn != g {
			c.mu.Unlock()
			return net.ErrClosed // superseded by a newer connection
		}
		s.heard = time.Now()
		switch k {
		case kindNews:
			s.News = news
			c.shout()
		case kindPing:
			g.echo = true
			g.poke()
		}
		c.mu.Unlock()
	}
}

const (
	// longOrder is the length in bytes from which an order is long: with a table of about a thousand
	// members.
	longOrder = 32 << 10
	// mostTurns is how many members are sent a long order at a time, because the kernel keeps what
	// was written until the member has received it.
	mostTurns = 256
)

// dispatch sends a member what it does not have yet. It always sends the newest state, so a slow
// member skips some and costs no memory.
func (c *Coordinator) dispatch(ctx context.Context, g *guest, rank int) {
	var turns chan struct{} // nil unless a long order waits for its turn
	for {
		turn := false
		select {
		case <-g.wake:
		case turns <- struct{}{}:
			turn = true
		case <-ctx.Done():
			return
		}
		waits, err := c.send(g, rank, turn)
		if turn {
			<-c.turns
		}
		if err != nil {
			g.Close() // the receiver notices it
			return
		}
		if turns = nil; waits {
			turns = c.turns
		}
	}
}

// send sends a member all frames that it does not have. It returns true if a long order waits for its
// turn.
func (c *Coordinator) send(g *guest, rank int, turn bool) (waits bool, err error) {
	for {
		k, payload, waits := c.pending(g, rank, turn)
		if k == 0 {
			return waits, nil
		}
		if err := g.send(k, payload); err != nil {
			return false, err
		}
		if k == kindOrder {
			c.mu.Lock()
			if s := c.seats[rank]; s.conn == g {
				s.told = g.said
			}
			c.mu.Unlock()
		}
	}
}

// pending returns the next frame for a member: an order before the work that belongs to it. kind 0
// means none; waits then says that a long order waits for its turn.
func (c *Coordinator) pending(g *guest, rank int, turn bool) (k kind, payload []byte, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seats[rank]
	if s.conn != g {
		return 0, nil, false
	}
	due := g.said != c.version
	switch {
	case due && (turn || len(c.order) < longOrder):
		g.said = c.version
		return kindOrder, c.order, false
	case !due && g.turn != s.turn:
		g.turn = s.turn
		return kindWork, s.work, false
	case g.echo:
		g.echo = false
		return kindPong, nil, false
	case g.ask:
		g.ask = false
		return kindPing, nil, false
	}
	return 0, nil, due
}

// leave records that a connection has ended.
func (c *Coordinator) leave(g *guest, rank int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(g.gone)
	s := c.seats[rank]
	if s.conn != g {
		return // another connection has replaced it
	}
	s.conn, s.Here, s.Left, s.Why = nil, false, time.Now(), parting(s.News, err)
	c.shout()
}

// parting says how a member left.
func parting(news News, err error) string {
	var syntax *json.SyntaxError
	switch {
	case news.Leaving != "":
		return news.Leaving
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer for " + Quiet.String()
	case errors.Is(err, ErrProtocol), errors.As(err, &syntax):
		return err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
		return "it closed its connection"
	}
	return "its connection broke"
}
