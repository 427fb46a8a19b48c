package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// ErrNoAnswers says that the worker's agent is too old to report what its processes do.
var ErrNoAnswers = errors.New("the agent of the worker is too old to report what its processes do")

// ErrNoStacks says that the worker's agent is too old to take stacks.
var ErrNoStacks = errors.New("the agent of the worker is too old to take stacks")

// Ask asks the worker what the processes of its sessions do. If the link is parked, Ask redials it.
// If the link is down, Ask waits for it. The error is ErrNoAnswers, or says that no answer came
// before the connection or ctx ended.
func (l *Link) Ask(ctx context.Context) (wire.AnswerRecord, error) {
	return l.question(ctx, wire.AskRecord{}, func(w *wire.WelcomeRecord) error {
		if !w.Answers {
			return ErrNoAnswers
		}
		return nil
	})
}

// Stacks asks the worker for the stacks of its ranks. rec says how long the worker may take, what
// else it may ask, and whether it looks for ranks that wait in MPI (Polls). With Polls the records
// have MPICall, and there are no stacks if a rank has no MPI library. Errors are those of Ask, with
// ErrNoStacks instead of ErrNoAnswers.
func (l *Link) Stacks(ctx context.Context, rec wire.AskRecord) (wire.AnswerRecord, error) {
	rec.Stacks = true
	return l.question(ctx, rec, func(w *wire.WelcomeRecord) error {
		if !w.Stacks {
			return ErrNoStacks
		}
		return nil
	})
}

// ErrNoNewest says that the worker's agent is too old to look up files.
var ErrNoNewest = errors.New("the agent of the worker is too old to look up files")

// Newest asks the worker when the newest file that matches a glob was last written; the zero time if
// there is none. Errors are those of Ask, with ErrNoNewest instead of ErrNoAnswers.
func (l *Link) Newest(ctx context.Context, glob string) (time.Time, error) {
	answer, err := l.question(ctx, wire.AskRecord{Newest: glob}, func(w *wire.WelcomeRecord) error {
		if !w.Newest {
			return ErrNoNewest
		}
		return nil
	})
	switch {
	case err != nil:
		return time.Time{}, err
	case answer.Newest == nil:
		return time.Time{}, errors.New("the worker answered another question")
	case answer.Newest.Error != "":
		return time.Time{}, errors.New(answer.Newest.Error)
	case answer.Newest.Seconds == 0:
		return time.Time{}, nil
	}
	return time.Unix(answer.Newest.Seconds, answer.Newest.Nanos), nil
}

// question waits for a connection to a worker whose WELCOME fits, sends a question, and waits for
// the answer.
func (l *Link) question(ctx context.Context, rec wire.AskRecord, fits func(*wire.WelcomeRecord) error) (wire.AnswerRecord, error) {
	c, err := l.connected(ctx, fits)
	if err != nil {
		return wire.AnswerRecord{}, err
	}
	answer, number := c.ask(rec)
	defer c.unask(number)
	select {
	case rec := <-answer:
		return rec, nil
	case <-c.done:
		return wire.AnswerRecord{}, errors.New("the link was lost before the worker answered")
	case <-ctx.Done():
		return wire.AnswerRecord{}, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// connected waits for a connection to a worker whose WELCOME fits, and redials a parked link. It
// returns the error of fits, and an error if the worker is lost or ctx ends.
func (l *Link) connected(ctx context.Context, fits func(*wire.WelcomeRecord) error) (*conn, error) {
	for {
		l.mu.Lock()
		c, up, w, parked := l.current.get(), l.current.up, l.heard.welcome, l.standing.parked()
		l.mu.Unlock()
		if w != nil {
			if err := fits(w); err != nil {
				return nil, err
			}
		}
		if c != nil {
			return c, nil
		}
		if parked {
			l.rouse()
		}
		select {
		case <-up:
		case <-l.fate.over:
			return nil, errLost
		case <-ctx.Done():
			if last := l.State().Last; last != nil {
				return nil, fmt.Errorf("the link is down: %w", last)
			}
			return nil, errors.New("the link is down")
		}
	}
}

// mostAnswered limits the text of an answer with several parts, in bytes. No worker sends that
// much.
const mostAnswered = 4 << 20

// pending is a question that waits for its answer, with the parts that have arrived.
type pending struct {
	answer chan wire.AnswerRecord
	parts  []wire.StackRecord
	ras    []byte
	bytes  int
}

// ask sends a question, or an order to ranks. The answer comes on the channel. The number is for
// unask.
func (c *conn) ask(rec wire.AskRecord) (<-chan wire.AnswerRecord, uint64) {
	p := &pending{answer: make(chan wire.AnswerRecord, 1)}
	c.mu.Lock()
	c.asks++
	number := c.asks
	if c.asking == nil {
		c.asking = map[uint64]*pending{}
	}
	c.asking[number] = p
	c.mu.Unlock()
	rec.Seq = number
	c.record(wire.Ask, 0, rec)
	return p.answer, number
}

func (c *conn) unask(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asking, number)
}

// answered passes an answer to its caller once the last part has come, if the caller still waits.
func (c *conn) answered(rec wire.AnswerRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.asking[rec.Seq]
	if p == nil {
		return
	}
	for _, one := range rec.Stacks {
		if p.bytes += len(one.Text) + len(one.Native) + 1<<10; p.bytes <= mostAnswered {
			p.parts = append(p.parts, one)
		}
	}
	if rec.RAS != nil {
		p.ras = rec.RAS
	}
	if rec.More {
		return
	}
	delete(c.asking, rec.Seq)
	rec.Stacks, rec.RAS = p.parts, p.ras
	p.answer <- rec
}
