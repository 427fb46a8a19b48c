package barrier

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// probeTime is how long the holder of a seat may take to answer a ping when another instance asks
// for the seat.
const probeTime = 3 * time.Second

// admit gives a member its seat, or returns the reason for refusing it. A connection of the same
// instance replaces its old one. Another instance gets the seat if the previous one is gone or does
// not answer. It waits for one that is leaving, because a controller may replace a pod that still
// saves its work. admit returns neither a seat nor a reason if the connection or ctx ends before.
func (c *Coordinator) admit(ctx context.Context, g *guest, card Card) (seated bool, why *Refusal) {
	if refusal := c.contradicts(card); refusal != nil {
		return false, refusal
	}
	if _, outside := g.Conn.(*net.TCPConn); outside && card.Instance == c.cfg.Instance {
		return false, &Refusal{Text: "this is " + c.cfg.Name + " itself"} // see Check
	}
	c.fill(&card, g)
	for {
		asked := time.Now()
		c.mu.Lock()
		s := c.seats[card.Rank]
		holder := s.conn
		if holder == nil || s.Card.Instance == card.Instance {
			c.seatLocked(s, g, card)
			c.mu.Unlock()
			return true, nil
		}
		holder.ask = true
		holder.poke()
		c.mu.Unlock()
		switch lives, leaving := c.lives(ctx, s, holder, asked); {
		case !lives:
			holder.Close()
		case !leaving:
			return false, c.rival(s, card)
		}
		if !g.await(ctx, holder.gone) {
			return false, nil
		}
	}
}

// await waits until gone is closed. It returns false if ctx or the guest's connection ends before.
func (g *guest) await(ctx context.Context, gone <-chan struct{}) bool {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-gone:
			return true
		case <-ctx.Done():
			return false
		case <-tick.C:
			if g.send(kindPong, nil) != nil { // so that the member does not take us for lost
				return false
			}
		}
	}
}

// seatLocked puts a member into its seat.
func (c *Coordinator) seatLocked(s *seat, g *guest, card Card) {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.Card.Instance != card.Instance {
		s.work, s.turn, s.told = nil, 0, 0
		s.News = News{Attempt: -1}
	}
	s.conn, s.Here, s.Came, s.Card, s.heard = g, true, true, card, time.Now()
	c.shout()
	g.poke()
}

// fill removes the fields of a card that were compared already, and learns our own address.
func (c *Coordinator) fill(card *Card, g *guest) {
	card.Size, card.Job, card.Settings = 0, "", nil
	local, ok := g.LocalAddr().(*net.TCPAddr)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reached == "" {
		c.reached = local.IP.String()
	}
}

// lives waits for a sign of life of a seat's holder after asked. leaving reports whether the holder is
// about to go.
func (c *Coordinator) lives(ctx context.Context, s *seat, holder *guest, asked time.Time) (lives, leaving bool) {
	timer := time.NewTimer(probeTime)
	defer timer.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		c.mu.Lock()
		heard, leaving := s.conn == holder && s.heard.After(asked), s.News.Leaving != ""
		c.mu.Unlock()
		if heard {
			return true, leaving
		}
		select {
		case <-holder.gone:
			return false, false
		case <-timer.C:
			return false, false
		case <-ctx.Done():
			return false, false
		case <-tick.C:
		}
	}
}

// rival returns the refusal for the second of two members with the same rank.
func (c *Coordinator) rival(s *seat, card Card) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.note(fmt.Sprintf("%s claims the same rank as %s", card.pod(), s.Card.pod()))
	c.shout()
	return &Refusal{
		Code: names.ExitUsage,
		Text: fmt.Sprintf("two members have rank %d: %s, which joined first, and %s", card.Rank, s.Card.pod(), card.pod()),
		Hint: "the rank comes from --rank, JOB_COMPLETION_INDEX, MUSTER_POD_INDEX or the end of the host name: each pod needs its own",
	}
}

// contradicts compares the settings of a member with those of rank 0.
func (c *Coordinator) contradicts(card Card) *Refusal {
	refusal := c.compare(card)
	if refusal != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if card.Rank < len(c.seats) && !c.seats[card.Rank].Here {
			c.seats[card.Rank].note(card.pod() + " was refused: " + refusal.Text)
			c.shout()
		}
	}
	return refusal
}

func (c *Coordinator) compare(card Card) *Refusal {
	const hint = "give every member the same flags and MUSTER_ variables"
	if card.Job != "" && c.cfg.Job != "" && card.Job != c.cfg.Job {
		return &Refusal{Code: names.ExitUsage, Hint: "give each job a token and a --coordinator of its own",
			Text: fmt.Sprintf("rank %d on %.80q belongs to job %.80q, rank 0 on %s to job %q", card.Rank, card.Name, card.Job, c.cfg.Name, c.cfg.Job)}
	}
	if card.Size != c.cfg.Size {
		return &Refusal{Code: names.ExitUsage, Hint: hint, Text: fmt.Sprintf("rank %d on %s has --workers=%d, rank 0 on %s has --workers=%d",
			card.Rank, card.Name, card.Size, c.cfg.Name, c.cfg.Size)}
	}
	if !card.bare() {
		return &Refusal{Code: names.ExitUsage, Hint: "correct the host name or MUSTER_POD_NAME of that pod", Text: fmt.Sprintf("rank %d has a name with invalid characters: %q", card.Rank, card.Name)}
	}
	if card.Rank >= c.cfg.Size {
		return &Refusal{Code: names.ExitUsage, Hint: hint, Text: fmt.Sprintf("%s has rank %d, but the job has only %d members", card.Name, card.Rank, c.cfg.Size)}
	}
	for i, mine := range c.cfg.Settings {
		theirs := Setting{Name: mine.Name}
		if i < len(card.Settings) {
			theirs = card.Settings[i]
		}
		if theirs != mine {
			return &Refusal{Code: names.ExitUsage, Hint: hint, Text: fmt.Sprintf("rank %d on %s has --%s=%s, rank 0 on %s has --%s=%s",
				card.Rank, card.Name, theirs.Name, theirs.Value, c.cfg.Name, mine.Name, mine.Value)}
		}
	}
	return nil
}
