//go:build linux

package session

import (
	"context"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/pairs"
	"github.com/musterhq/muster/exec/survey"
	"github.com/musterhq/muster/exec/wire"
)

const (
	// surveyTime bounds the answer to a question about facts: names may not resolve.
	surveyTime = 10 * time.Second
	// longestListen bounds how long the worker listens for its peers.
	longestListen = time.Minute
)

// surveyor answers questions about the worker and its network. Each kind is answered one question
// at a time; another one meanwhile is not answered.
type surveyor struct {
	srv *Server

	mu      sync.Mutex
	taking  bool
	dialing bool
	stop    context.CancelFunc // ends listening; nil: nothing listens
}

// facts answers a question about the worker in its own goroutine, because a file system may hang.
func (v *surveyor) facts(c *conn, seq uint64, ask wire.AskFactsRecord) {
	v.once(&v.taking, c, surveyTime, func(ctx context.Context) wire.AnswerRecord {
		facts := survey.Take(ctx, survey.Where{Root: "/", Env: v.srv.cfg.Env, Dir: v.srv.cfg.Dir}, ask)
		facts.ProgramError = sentence(facts.ProgramError) // it may name the whole PATH
		return wire.AnswerRecord{Seq: seq, Facts: &facts}
	})
}

// dial measures the network to peers.
func (v *surveyor) dial(c *conn, seq uint64, ask wire.AskDialRecord) {
	v.once(&v.dialing, c, surveyTime, func(ctx context.Context) wire.AnswerRecord {
		return wire.AnswerRecord{Seq: seq, Pairs: pairs.Dial(ctx, ask)}
	})
}

// once answers in a goroutine, unless busy says that one already does. Its context ends after limit,
// or with the connection: nobody then waits for the answer. busy ends before the answer is sent, so
// that a question which follows the answer is not dropped.
func (v *surveyor) once(busy *bool, c *conn, limit time.Duration, answer func(context.Context) wire.AnswerRecord) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if *busy {
		return
	}
	*busy = true
	ctx, stop := v.during(c, limit)
	v.srv.lookUp(func() {
		defer stop()
		rec := answer(ctx)
		v.mu.Lock()
		*busy = false
		v.mu.Unlock()
		c.record(wire.Answer, 0, rec)
		c.flush()
	})
}

// during returns a context that ends after limit, or with the connection.
func (v *surveyor) during(c *conn, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	v.srv.wg.Go(func() {
		select {
		case <-c.gone:
			stop()
		case <-ctx.Done():
		}
	})
	return ctx, stop
}

// listen listens for peers, instead of for those of an earlier question.
func (v *surveyor) listen(c *conn, seq uint64, ask wire.AskListenRecord) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stop != nil {
		v.stop()
		v.stop = nil
	}
	ln, err := pairs.Listen(ask.Address, ask.Token)
	if err != nil {
		c.record(wire.Answer, 0, wire.AnswerRecord{Seq: seq, Error: sentence(err.Error())})
		return
	}
	ctx, stop := v.during(c, min(max(time.Duration(ask.LifeMillis)*time.Millisecond, 0), longestListen))
	v.stop = stop
	v.srv.wg.Go(func() {
		defer stop()
		ln.Serve(ctx)
	})
	c.record(wire.Answer, 0, wire.AnswerRecord{Seq: seq, Port: ln.Port()})
}
