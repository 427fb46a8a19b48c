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

// Hosts is the table of workers, by every name that mpirun may use for them. The zero value is
// empty. Hosts may be used by several goroutines.
type Hosts struct {
	mu      sync.RWMutex
	targets []Target            // in the order of their addition
	names   map[string][]string // folded name -> names of targets
}

// UnknownHostError reports that no worker has that name.
type UnknownHostError struct {
	Host  string
	Known []string // names of the workers
}

func (e *UnknownHostError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("unknown host %q: no workers yet", e.Host)
	}
	list := strings.Join(e.Known[:min(len(e.Known), knownShown)], ", ")
	if more := len(e.Known) - knownShown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("unknown host %q: the workers are %s", e.Host, list)
}

// Add adds a worker under its name and aliases: pod name, host name, name in the hostfile, address.
// It ignores empty aliases. It replaces an existing worker of that name, including its aliases.
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

// Resolve returns the worker that host means: by any of its names in any case, else by the first
// label of a domain name. It returns an *UnknownHostError, or another error for a name that several
// workers share, like pods on one host network.
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
	return Target{}, fmt.Errorf("host %q stands for several workers: %s; use their pod names", host, strings.Join(owners, ", "))
}

// List returns the names of the workers in the order of their addition.
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

// fold normalizes names: lower case without the root's dot, and addresses in their shortest form.
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
