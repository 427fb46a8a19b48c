package join

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/rendezvous/barrier"
)

const (
	// hostsTime is the time limit of the wait for names. Cluster DNS publishes a pod's name within
	// a second or two after its address. A query that comes too early makes it deny the name for up
	// to 30 s more.
	hostsTime = time.Minute
	hostsPoll = 500 * time.Millisecond
)

// hostsOf finds the names of members in the settings of their processes, and the addresses to which
// these names must resolve. A script often gives up if its first connection uses a name that DNS
// does not know yet. Frameworks get addresses; only --compat uses names.
func hostsOf(processes []framework.Process, rank int, table []barrier.Card) map[string]string {
	addresses := map[string]string{}
	for _, m := range table {
		addresses[m.Name] = m.Address
	}
	hosts := map[string]string{}
	for _, p := range processes {
		if p.Worker != rank {
			continue
		}
		for _, v := range p.Env {
			for word := range strings.FieldsFuncSeq(v.Value, notInHost) {
				first, _, _ := strings.Cut(word, ".")
				if ip := net.ParseIP(addresses[first]); ip != nil {
					hosts[word] = addresses[first]
				}
			}
		}
	}
	return hosts
}

func notInHost(r rune) bool {
	return r != '-' && r != '.' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
}

// awaitHosts waits until lookup resolves each host to its address. After hostsTime, or when ctx
// ends, it returns an error with the hosts that do not resolve.
func awaitHosts(ctx context.Context, hosts map[string]string, lookup func(context.Context, string) ([]string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, hostsTime)
	defer cancel()
	left := slices.Sorted(maps.Keys(hosts))
	poll := time.NewTicker(hostsPoll)
	defer poll.Stop()
	for {
		left = slices.DeleteFunc(left, func(host string) bool {
			found, err := lookup(ctx, host)
			return err == nil && slices.Contains(found, hosts[host])
		})
		if len(left) == 0 {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("host %s did not resolve to %s within %s (unresolved hosts: %d): ranks may not find it", left[0], hosts[left[0]], hostsTime, len(left))
		}
	}
}
