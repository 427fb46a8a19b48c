package join

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/rendezvous/barrier"
)

// memoryKills counts the processes of this container that the kernel has killed
// for its memory: oom_kill of memory.events (Linux, admin-guide/cgroup-v2.rst) or
// of memory.oom_control (cgroup-v1/memory.rst).
func memoryKills() int {
	for _, file := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
			if n, err := strconv.Atoi(string(value)); err == nil && string(name) == "oom_kill" {
				return n
			}
		}
	}
	return 0
}

// cardOf is what this member tells of itself.
func (c Config) cardOf(instance string) barrier.Card {
	card := barrier.Card{Rank: c.Rank, Name: c.PodName, Host: c.Host, Address: c.PodIP, Slots: c.Slots,
		Instance: instance, Job: c.meets, Size: c.Workers, Settings: c.settings(), Interface: c.Interface}
	if _, err := os.Stat("/sys/class"); err == nil {
		entries, err := os.ReadDir("/sys/class/infiniband")
		card.NoRDMA = errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
	}
	card.NoGPU = noGPU("/dev")
	if card.Interface == "" && card.Address != "" {
		card.Interface = interfaceOf(card.Address)
	}
	return card
}

// noGPU tells whether that directory has no device file of an accelerator; one
// that cannot be read proves nothing.
func noGPU(dev string) bool {
	entries, err := os.ReadDir(dev)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return slices.ContainsFunc(strings.Fields("nvidia dxg kfd accel davinci neuron cambricon"),
			func(kind string) bool { return strings.HasPrefix(e.Name(), kind) })
	})
}

// interfaceOf names the network interface that holds an address, "" if none does.
func interfaceOf(address string) string {
	list, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range list {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(net.ParseIP(address)) {
				return i.Name
			}
		}
	}
	return ""
}

// ownPath is where this binary lies.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}
