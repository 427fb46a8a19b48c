//go:build linux

package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// readyTime is how long a worker may take to answer Ready.
const readyTime = 5 * time.Second

// Ready asks the worker of this container whether it is ready. The error wraps ErrNoWorker if there
// is no worker. Ready also returns an error if the worker does not answer within 5 s, and if it is
// about to end. It changes nothing in the worker. In a launcher's container it reports what is
// wrong with the run.
func Ready() error {
	c, err := dial()
	if err != nil {
		if socket, lerr := rundir.Broker(); lerr == nil {
			return launches(socket)
		}
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(readyTime)); err != nil {
		return err
	}
	refusal, err := probe(c)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the worker does not answer: no answer within %s", readyTime)
	case err != nil:
		return fmt.Errorf("the worker does not answer: %w", err)
	case refusal.Reason == wire.RefuseEnding:
		return errors.New(refusal.Message)
	}
	return nil
}

// launches is Ready for a launcher, which records trouble beside its socket.
func launches(socket string) error {
	trouble, err := rundir.Trouble(socket, time.Now())
	if err == nil && trouble != "" {
		return errors.New(trouble)
	}
	return err
}

// probe sends the question and reads the answer. It offers no protocol version that any worker has.
// So a worker that does not know Probe refuses it, which is an answer too.
func probe(c net.Conn) (refusal wire.RefuseRecord, err error) {
	f, err := wire.Record(wire.Hello, 0, wire.HelloRecord{Probe: true})
	if err != nil {
		return refusal, err
	}
	b, err := wire.Append(nil, f)
	if err != nil {
		return refusal, err
	}
	if _, err := c.Write(b); err != nil {
		return refusal, err
	}
	if f, err = wire.NewReader(c).Next(); err != nil {
		return refusal, err
	}
	if f.Type != wire.Refuse {
		return refusal, fmt.Errorf("%w: frame of type %d", wire.ErrProtocol, f.Type)
	}
	return refusal, f.Decode(&refusal)
}
