package barrier

import (
	"context"
	"time"
)

const (
	// mostAbsent is how many of the missing members are named.
	mostAbsent = 8
	// tellEvery is the shortest time between two reports of missing members, and tellEach is added
	// for each member. Otherwise a thousand members that connect one by one would each get a thousand
	// reports.
	tellEvery = time.Second
	tellEach  = 500 * time.Microsecond
)

// Gather waits until a ready member is in every seat, and returns their cards in rank order.
// Meanwhile it tells the members base with the list of missing ones. The only error is that of ctx;
// absent then lists the missing members.
func (c *Coordinator) Gather(ctx context.Context, base Order) (table Table, absent []Absent, err error) {
	base.Phase = PhaseGather
	var told time.Time
	every := tellEvery + time.Duration(c.cfg.Size)*tellEach
	due := 0 // as many changes must have been made before all members can be ready
	for {
		changed, changes := c.change()
		wait := time.Until(told.Add(every))
		if changes >= due || wait <= 0 {
			table, absent, missing := c.roll(time.Now(), mostAbsent)
			if missing == 0 {
				return table, nil, nil
			}
			due = changes + missing
			if wait <= 0 {
				o := base
				o.Absent, o.More = absent, missing-len(absent)
				if err := c.Tell(o); err != nil {
					return nil, absent, err
				}
				told = time.Now()
				wait = time.Hour // there is nothing new to report
			}
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

// roll returns the cards of the members if all are ready. Otherwise it returns the first few that are
// not, and their number.
func (c *Coordinator) roll(now time.Time, most int) (table Table, absent []Absent, missing int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seats {
		if !s.ready() {
			if missing++; missing <= most {
				absent = append(absent, Absent{s.Rank, s.absence(now)})
			}
		}
	}
	if missing > 0 {
		return nil, absent, missing
	}
	table = make(Table, 0, len(c.seats))
	for _, s := range c.seats {
		card := s.Card
		if card.Address == "" {
			card.Address = c.reached
		}
		table = append(table, card)
	}
	return table, nil, 0
}
