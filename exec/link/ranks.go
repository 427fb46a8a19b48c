package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// ErrAsksNoRanks says that the worker's agent is too old to ask only ranks to end.
var ErrAsksNoRanks = errors.New("the agent of the worker is too old to stop single ranks")

// EndRanks makes the worker ask its ranks to end, and returns the answer. The answer comes when the
// ranks have been asked, or, with rec.Wait, when they have ended or the last part of the grace
// begins. If the link is down or breaks meanwhile, EndRanks waits for it. The worker asks once for
// each rec.Number. The error is ErrAsksNoRanks, or says that no answer came before the worker was
// lost or ctx ended.
func (l *Link) EndRanks(ctx context.Context, rec wire.EndRanksRecord) (wire.RanksRecord, error) {
	for {
		c, err := l.connected(ctx, func(w *wire.WelcomeRecord) error {
			if !w.AsksRanks {
				return ErrAsksNoRanks
			}
			return nil
		})
		if err != nil {
			return wire.RanksRecord{}, err
		}
		answer, number := c.ask(wire.AskRecord{End: &rec})
		select {
		case got := <-answer:
			if got.Ranks == nil {
				return wire.RanksRecord{}, errors.New("the worker answered another question")
			}
			return *got.Ranks, nil
		case <-c.done:
			c.unask(number)
			c.awaitLeft(ctx)
		case <-ctx.Done():
			c.unask(number)
			return wire.RanksRecord{}, fmt.Errorf("no answer: %w", context.Cause(ctx))
		}
	}
}

// awaitLeft waits until the link has dropped a connection that has ended.
func (c *conn) awaitLeft(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.link.current.get() == c {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
