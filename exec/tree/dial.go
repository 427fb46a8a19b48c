package tree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/musterhq/muster/exec/relay"
)

// retryAfter is how long a relay is left alone whose trunk could not be opened.
const retryAfter = 5 * time.Second

// errVacant says that there is no worker at a position.
var errVacant = errors.New("no worker")

// Dial returns a connection to the address of a worker. ctx limits the dial, not the connection. Each
// way gets its share of the time that is left. The error has the reason of each way that failed.
func (t *Tree) Dial(ctx context.Context, name string) (net.Conn, error) {
	t.mu.Lock()
	at, ok := t.positions[name]
	t.mu.Unlock()
	n := t.size()
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, errVacant)
	}
	if relays(at, t.fanOut, n) {
		return t.try(ctx, at, append([]int{at}, t.ways(at, n)...))
	}
	return t.try(ctx, at, t.ways(at, n))
}

// ways returns the relays that lead to a position, and launcher for no relay, in the order to try them.
func (t *Tree) ways(at, n int) []int {
	parent := parentOf(at, t.fanOut)
	if parent == launcher {
		return []int{launcher}
	}
	if sibling := siblingOf(parent, t.fanOut, n); sibling != launcher {
		return []int{parent, sibling, launcher}
	}
	return []int{parent, launcher}
}

// try dials the worker at a position by each way until one leads to it.
func (t *Tree) try(ctx context.Context, at int, ways []int) (net.Conn, error) {
	var failed []error
	for i, way := range ways {
		shared, cancel := share(ctx, len(ways)-i)
		conn, err := t.by(shared, at, way)
		cancel()
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// share returns a part of the time of ctx.
func share(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
}

// by dials the worker at a position by one way.
func (t *Tree) by(ctx context.Context, at, way int) (net.Conn, error) {
	p, err := t.at(at)
	if err != nil {
		return nil, err
	}
	if way == launcher {
		return t.direct(ctx, p.worker.Address)
	}
	trunk, err := t.trunk(ctx, way)
	if err != nil {
		return nil, err
	}
	return trunk.Dial(ctx, p.worker.Address)
}

func (t *Tree) at(at int) (*place, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, fmt.Errorf("tree: %w", net.ErrClosed)
	}
	if at >= len(t.places) || t.places[at] == nil {
		return nil, errVacant
	}
	return t.places[at], nil
}

// trunk returns the trunk of a relay, and opens it if there is none. One goroutine opens it, and the
// others wait.
func (t *Tree) trunk(ctx context.Context, at int) (*relay.Trunk, error) {
	p, err := t.at(at)
	if err != nil {
		return nil, fmt.Errorf("relay %d: %w", at, err)
	}
	select {
	case p.opens <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("relay %s: %w", p.worker.Name, ctx.Err())
	}
	defer func() { <-p.opens }()
	if trunk, err := t.living(p); trunk != nil || err != nil {
		return trunk, err
	}
	conn, err := t.seal(ctx, p.worker, func(ctx context.Context, _ string) (net.Conn, error) {
		return t.try(ctx, at, t.ways(at, t.size()))
	})
	if err != nil {
		return nil, t.fail(ctx, p, err)
	}
	trunk, err := relay.NewTrunk(conn)
	if err != nil {
		return nil, t.fail(ctx, p, err)
	}
	return trunk, t.keep(at, p, trunk)
}

// living returns the trunk of a place, nil if it is to be opened, or an error if it was tried a
// moment ago.
func (t *Tree) living(p *place) (*relay.Trunk, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.trunk != nil {
		select {
		case <-p.trunk.Done():
		default:
			return p.trunk, nil
		}
	}
	if time.Now().Before(p.until) {
		return nil, p.failed
	}
	return nil, nil
}

// fail notes that a trunk could not be opened. The workers behind the relay, which all want it, take
// other ways for a while. A dial that its caller has canceled says nothing about the relay.
func (t *Tree) fail(ctx context.Context, p *place, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("relay %s: %w", p.worker.Name, err)
	}
	p.failed, p.until = fmt.Errorf("relay %s: %w", p.worker.Name, err), time.Now().Add(retryAfter)
	return p.failed
}

// keep stores a trunk for the dials that follow, unless its worker has left meanwhile.
func (t *Tree) keep(at int, p *place, trunk *relay.Trunk) error {
	var left *relay.Trunk
	defer func() { end(left) }()
	t.mu.Lock()
	defer t.mu.Unlock()
	if at >= len(t.places) || t.places[at] != p {
		left = trunk
		return fmt.Errorf("relay %s: %w", p.worker.Name, errVacant)
	}
	p.trunk = trunk
	return nil
}
