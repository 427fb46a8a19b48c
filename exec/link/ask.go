package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// ErrNoAnswers says that the worker's agent is too old to tell what its
// processes do.
var ErrNoAnswers = errors.New("its agent is too old to tell what its processes do")

// Ask asks the worker what the processes of its sessions do. A parked link is
// dialled for it, and goes on as one that was dialled anew; one that is down is
// waited for. The error is ErrNoAnswers, or says that no answer came before the
// connection or ctx ended.
func (l *Link) Ask(ctx context.Context) (wire.AnswerRecord, error) {
	c, err := l.connected(ctx)
	if err != nil {
		return wire.AnswerRecord{}, err
	}
	answer, number := c.ask()
	defer c.unask(number)
	select {
	case rec := <-answer:
		return rec, nil
	case <-c.done:
		return wire.AnswerRecord{}, errors.New("the link broke before it had answered")
	case <-ctx.Done():
		return wire.AnswerRecord{}, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// connected waits for a connection to a worker that answers.
func (l *Link) connected(ctx context.Context) (*conn, error) {
	for {
		l.mu.Lock()
		c, up, w, parked := l.conn, l.up, l.welcome, l.state.Parked
		l.mu.Unlock()
		if w != nil && !w.Answers {
			return nil, ErrNoAnswers
		}
		if c != nil {
			return c, nil
		}
		if parked {
			l.rouse()
		}
		select {
		case <-up:
		case <-l.over:
			return nil, errLost
		case <-ctx.Done():
			if last := l.State().Last; last != nil {
				return nil, fmt.Errorf("its link is down: %w", last)
			}
			return nil, errors.New("its link is down")
		}
	}
}

// ask sends a question; the channel gets its answer.
func (c *conn) ask() (<-chan wire.AnswerRecord, uint64) {
	answer := make(chan wire.AnswerRecord, 1)
	c.mu.Lock()
	c.asks++
	number := c.asks
	c.asking[number] = answer
	c.mu.Unlock()
	c.record(wire.Ask, 0, wire.AskRecord{Seq: number})
	return answer, number
}

func (c *conn) unask(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asking, number)
}

// answered hands an answer to who waits for it, if anybody still does.
func (c *conn) answered(rec wire.AnswerRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.asking[rec.Seq]; answer != nil {
		delete(c.asking, rec.Seq)
		answer <- rec
	}
}
