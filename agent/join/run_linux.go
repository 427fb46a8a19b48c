package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// Run is the member role. say prints one line for people. Run returns the exit code. If that is not
// 0, the error is a *failure.Failure that says why in one sentence, unless the command has already
// printed all there is to say.
func Run(ctx context.Context, cfg Config, say func(format string, words ...any)) (int, error) {
	below := cfg.below()
	cfg.found = func() []string { return below }
	// Take signals soon: until then, TERM ends PID 1 with exit code 2.
	signals := worker.TakeSignals()
	defer signals.GiveBack()
	if os.Getpid() != 1 {
		if err := reap.Subreaper(); err != nil {
			return names.ExitBug, err
		}
	}
	here, err := placeOf()
	if err != nil {
		return names.ExitUsage, err
	}
	reaper := reap.New()
	var wg sync.WaitGroup
	defer wg.Wait()
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	wg.Go(func() { _ = reaper.Run(inner) }) // fails only if it runs already

	m := &member{cfg: cfg, here: here, reaper: reaper, say: say, instance: wire.NewID(), news: barrier.News{Attempt: -1}}
	card := cfg.cardOf(m.instance)
	dial := dialTo(cfg.Coordinator)
	refused := make(chan error, 1)
	var led chan struct{}
	if cfg.Rank == 0 {
		if dial, led, err = m.serve(inner, &wg, refused); err != nil {
			return names.ExitUsage, err
		}
	}
	m.client = barrier.NewMember(barrier.MemberConfig{Card: card, Token: m.cfg.Token, Dial: dial, Interface: interfaceOf})
	wg.Go(func() {
		if err := m.client.Run(inner); err != nil {
			refused <- err
		}
	})
	if cfg.Rank == 0 && cfg.Workers > 1 {
		wg.Go(func() { m.check(inner, card, refused) })
	}
	o := m.loop(inner, signals, refused)
	m.leave(inner, led)
	return m.ending(o)
}

// leave waits until the last news are sent and, on rank 0, until the other members have received
// the end.
func (m *member) leave(ctx context.Context, led <-chan struct{}) {
	select {
	case e := <-m.client.Events():
		if e.Back || e.Away != nil {
			m.away = e.Away
		}
	default:
	}
	if m.away == nil {
		flush, cancel := context.WithTimeout(ctx, deliverTime)
		m.client.Flush(flush)
		cancel()
	}
	if led == nil {
		return
	}
	m.lead.leave()
	patience := time.NewTimer(m.cfg.Grace + farewellTime)
	defer patience.Stop()
	for {
		select {
		case <-m.client.Events(): // no order counts anymore
		case <-led:
			return
		case <-patience.C:
			return
		}
	}
}

// mostWords stays below the 4096 bytes of a termination message that the kubelet reads.
const mostWords = 4000

// ending returns the exit code, and a sentence unless the end has been reported already.
func (m *member) ending(o barrier.Order) (int, error) {
	why := whyOf(o)
	words := why
	if words == "" {
		words = fmt.Sprintf("the job ended with %d", o.Code)
	}
	past := concluded(o, m.past, m.news.Attempt)
	before := retry.Earlier(past)
	worker.LastWords(m.cfg.TerminationLog, retry.Clip("agent join: "+words, mostWords-len(before))+before)
	if err := m.cfg.saveReport(o, past); err != nil {
		m.say("%v", err)
		if o.Code == 0 {
			return names.ExitOutput, nil
		}
	}
	plain := m.cfg.Workers == 1 && m.cfg.MaxRestarts == 0 && len(m.ends) == 1 && m.ends[0].Exit.Error == "" && m.ends[0].Exit.OOM == 0
	if o.Code == 0 || why == "" || plain || why == m.said && o.Hint == "" {
		return o.Code, nil // a job of one member prints no more than any small init
	}
	return o.Code, &failure.Failure{Code: o.Code, Err: errors.New(why), Way: o.Hint}
}

func placeOf() (place, error) {
	dir, err := rundir.Create()
	if err != nil {
		return place{}, &failure.Failure{Code: names.ExitUsage, Err: errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")),
			Way: cmp.Or(shortage.Hint(err), "set "+names.EnvDir+" to a directory that you own, with mode 0700")}
	}
	temp, err := rundir.Temp(dir)
	if err != nil {
		return place{}, err
	}
	return place{dir: dir, temp: temp, agent: ownPath(), env: worker.Environment(os.Environ(), dir, temp)}, nil
}

// dialTo connects to the coordinator, whose name may resolve late.
func dialTo(address string) func(context.Context) (net.Conn, error) {
	const dialTime = 3 * time.Second
	return func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTime}
		return d.DialContext(ctx, "tcp", address)
	}
}

// serve makes this member the lead. Its own connection to the barrier is a pipe within this
// process. In a job of one member that is the only connection.
func (m *member) serve(ctx context.Context, wg *sync.WaitGroup, refused chan<- error) (func(context.Context) (net.Conn, error), chan struct{}, error) {
	if m.cfg.Workers == 1 {
		m.cfg.Token = fmt.Appendf(nil, "%x%x", rand.Uint64(), rand.Uint64()) // no other member needs it
	}
	coord := barrier.NewCoordinator(barrier.Config{Size: m.cfg.Workers, Token: m.cfg.Token, Name: m.cfg.PodName, Job: m.cfg.meets,
		Settings: m.cfg.settings(), Instance: m.instance, Troubled: func(err error) {
			if err != nil {
				m.say("members cannot connect: %v; retrying", err)
				return
			}
			m.say("members can connect again")
		}, Deaf: func(err error) {
			select {
			case refused <- &barrier.Refusal{Code: names.ExitBug, Text: err.Error()}:
			default: // this member is ending already
			}
		}})
	if m.cfg.Workers > 1 {
		proc.LimitGarbage(m.cfg.Workers)
		l, err := listen(m.cfg.Coordinator)
		if err != nil {
			return nil, nil, err
		}
		wg.Go(func() { _ = coord.Serve(ctx, l) }) // Deaf has reported it
	} else {
		wg.Go(func() { coord.Rest(ctx) })
	}
	lead, err := newLead(m.cfg, coord, m.here, m.say)
	if err != nil {
		return nil, nil, err
	}
	m.lead = lead
	led := make(chan struct{})
	wg.Go(func() {
		defer close(led)
		lead.run(ctx)
	})
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		coord.Take(ctx, theirs)
		return ours, nil
	}, led, nil
}

// listen opens the port of rank 0 on every address, or only on loopback if the members use that.
func listen(coordinator string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(coordinator)
	if err != nil {
		return nil, usage("--coordinator=HOST:PORT", "%w", err)
	}
	address := ":" + port
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		address = coordinator
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usage("another rank 0 may run at this address; --coordinator=HOST:PORT with another port, for every member, avoids it", "rank 0 cannot listen: %w", err)
	}
	return l, nil
}

// check finds out whether the members' address of rank 0 leads here, or to another rank 0.
func (m *member) check(ctx context.Context, card barrier.Card, refused chan<- error) {
	const every = 2 * time.Second
	dial := dialTo(m.cfg.Coordinator)
	for ctx.Err() == nil {
		if nc, err := dial(ctx); err == nil {
			if refusal := barrier.Check(nc, m.cfg.Token, card); refusal != nil {
				select {
				case refused <- refusal:
				default:
				}
			}
			return
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
