package join

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/rendezvous/barrier"
)

// absence lists the missing members, or returns "" if none are known.
func absence(o barrier.Order) string {
	var list []string
	for _, a := range o.Absent {
		list = append(list, a.Sentence())
	}
	text := strings.Join(list, ", ")
	if o.More > 0 {
		text += fmt.Sprintf(", and %d more", o.More)
	}
	return text
}

// whyOf returns the end of the job in one sentence.
func whyOf(o barrier.Order) string {
	if list := absence(o); list != "" {
		return o.Why + ": " + list
	}
	return o.Why
}

// unreachable says why rank 0 cannot be reached, and what may help.
func unreachable(address string, err error) (why, hint string) {
	why = fmt.Sprintf("rank 0 at %s: %v", address, err)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		why = fmt.Sprintf("rank 0 at %s: the name does not resolve (%s)", address, dns.Err)
		hint = "pods have such names if `subdomain` names a headless Service with publishNotReadyAddresses: true; or set --coordinator"
	case errors.Is(err, syscall.ECONNREFUSED):
		why = fmt.Sprintf("rank 0 at %s: nothing listens there yet", address)
	case errors.Is(err, barrier.ErrToken):
		why = fmt.Sprintf("rank 0 at %s: %v", address, err)
	}
	return why, hint
}

// seconds formats a duration for people.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }
