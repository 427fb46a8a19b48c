package barrier

import (
	"context"
	"time"
)

const (
	// mostAbsent is how many of those for whom is waited are named.
	mostAbsent = 8
	// tellEvery bounds how often the members are told who is absent: a thousand
	// that come one by one would each have to hear it a thousand times.
	tellEvery = time.Second
)

// Gather waits until every seat is taken by a member that is ready, and returns
// their cards in rank order. Meanwhile it tells the members base with those that
// are absent. The error is ctx's; then absent are those that were.
func (c *Coordinator) Gather(ctx context.Context, base Order) (table Table, absent []Absent, err error) {
	base.Phase = PhaseGather
	told := time.Time{}
	for {
		changed := c.Changed()
		table, absent, missing := c.roll(time.Now(), mostAbsent)
		if missing == 0 {
			return table, nil, nil
		}
		wait := time.Until(told.Add(tellEvery))
		if wait <= 0 {
			o := base
			o.Absent, o.More = absent, missing-len(absent)
			if err := c.Tell(o); err != nil {
				return nil, absent, err
			}
			told = time.Now()
			wait = time.Hour // nothing new to tell
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			_, absent, _ = c.roll(time.Now(), c.cfg.Size)
			return nil, absent, ctx.Err()
		}
		timer.Stop()
	}
}

// roll calls the members: their cards, and how many are not ready with the first
// few of them.
func (c *Coordinator) roll(now time.Time, most int) (table Table, absent []Absent, missing int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seats {
		if !s.ready() {
			if missing++; missing <= most {
				absent = append(absent, Absent{s.Rank, s.absence(now)})
			}
			continue
		}
		card := s.Card
		if card.Address == "" {
			card.Address = c.reached
		}
		table = append(table, card)
	}
	return table, absent, missing
}
