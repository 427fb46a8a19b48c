package broker

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// knownShown is how many hosts an *UnknownHostError lists.
const knownShown = 10

// Hosts is the table of workers by every name that mpirun may call them. The
// zero value is empty; it may be used from several goroutines.
type Hosts struct {
	mu      sync.RWMutex
	targets []Target            // in the order in which they came
	names   map[string][]string // folded name -> names of targets
}

// UnknownHostError tells that no worker has that name.
type UnknownHostError struct {
	Host  string
	Known []string // the workers' names
}

func (e *UnknownHostError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("unknown host %q: no workers are known", e.Host)
	}
	list := strings.Join(e.Known[:min(len(e.Known), knownShown)], ", ")
	if more := len(e.Known) - knownShown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("unknown host %q: the %d known are %s", e.Host, len(e.Known), list)
}

// Add enters a worker under its name and aliases: pod name, host name, name in
// the hostfile, address. Empty aliases are left out. A worker that is there
// already under that name is replaced, aliases included.
func (h *Hosts) Add(t Target, aliases ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = map[string][]string{}
	}
	if i := h.index(t.Name); i >= 0 {
		h.targets[i] = t
		for name, owners := range h.names {
			h.names[name] = slices.DeleteFunc(owners, func(o string) bool { return o == t.Name })
		}
	} else {
		h.targets = append(h.targets, t)
	}
	for _, alias := range append([]string{t.Name}, aliases...) {
		name := fold(alias)
		if name != "" && !slices.Contains(h.names[name], t.Name) {
			h.names[name] = append(h.names[name], t.Name)
		}
	}
}

// Resolve finds the worker that host means: by any name as given, in any case,
// else by the first label of a domain name. Errors: *UnknownHostError, and one
// for a name that several workers share, as pods of one host network do.
func (h *Hosts) Resolve(host string) (Target, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	name := fold(host)
	owners := h.names[name]
	if len(owners) == 0 && !isAddress(name) {
		label, _, _ := strings.Cut(name, ".")
		owners = h.names[label]
	}
	switch len(owners) {
	case 0:
		return Target{}, &UnknownHostError{Host: host, Known: h.list()}
	case 1:
		return h.targets[h.index(owners[0])], nil
	}
	return Target{}, fmt.Errorf("host %q is more than one worker: %s; use their pod names", host, strings.Join(owners, ", "))
}

// List gives the workers' names in the order in which they were added.
func (h *Hosts) List() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.list()
}

func (h *Hosts) list() []string {
	list := make([]string, 0, len(h.targets))
	for _, t := range h.targets {
		list = append(list, t.Name)
	}
	return list
}

func (h *Hosts) index(name string) int {
	return slices.IndexFunc(h.targets, func(t Target) bool { return t.Name == name })
}

// fold gives names one spelling: lower case without the root's dot, addresses
// in their shortest form.
func fold(name string) string {
	name = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().String()
	}
	return name
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}
