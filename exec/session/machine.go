//go:build linux

package session

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/wire"
)

// mostInterfaces keeps WELCOME within a record, on nodes whose pods' ends are
// all seen.
const mostInterfaces = 64

// interfaces lists those that are up and have an address. Link-local addresses
// lead nowhere without a zone.
func interfaces() []wire.Interface {
	list, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var out []wire.Interface
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		one := wire.Interface{Name: i.Name}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				one.Addresses = append(one.Addresses, n.IP.String())
			}
		}
		if len(one.Addresses) > 0 && len(out) < mostInterfaces {
			out = append(out, one)
		}
	}
	return out
}

// noRDMA tells whether the kernel shows no RDMA device below that directory,
// sysfs's class. One that cannot be read proves nothing.
func noRDMA(class string) bool {
	if _, err := os.Stat(class); err != nil {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(class, "infiniband"))
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// accelerators are how the names of their device files begin: NVIDIA's (nvidia0,
// dxg under WSL), AMD's (kfd), Habana's and Google's (accel), Huawei's, AWS's and
// Cambricon's. dri is no sign: a machine's own display is there.
const accelerators = "nvidia dxg kfd accel davinci neuron cambricon"

// noGPU tells whether that directory, /dev, has no device file of an accelerator.
// One that cannot be read proves nothing.
func noGPU(dev string) bool {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return false
	}
	for _, name := range strings.Fields(accelerators) {
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), name) }) {
			return false
		}
	}
	return true
}

// listCPUs gives a set in Linux's list form.
func listCPUs(set *unix.CPUSet) string {
	out := ""
	for i, seen, n := 0, 0, set.Count(); seen < n; i++ {
		if !set.IsSet(i) {
			continue
		}
		first := i
		for set.IsSet(i + 1) {
			i++
		}
		seen += i - first + 1
		if out != "" {
			out += ","
		}
		if out += fmt.Sprint(first); i > first {
			out += fmt.Sprintf("-%d", i)
		}
	}
	return out
}
