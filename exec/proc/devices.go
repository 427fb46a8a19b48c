//go:build linux

package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// NoRDMA reports whether the kernel shows no RDMA device below class, which is /sys/class. A
// directory that cannot be read proves nothing, so NoRDMA then returns false.
func NoRDMA(class string) bool {
	if _, err := os.Stat(class); err != nil {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(class, "infiniband"))
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// accelerators are the first letters of device files: NVIDIA's (nvidia0, dxg under WSL), AMD's
// (kfd), Habana's and Google's (accel), Huawei's, AWS's and Cambricon's. dri is not among them,
// because the machine's display has it too.
const accelerators = "nvidia dxg kfd accel davinci neuron cambricon"

// NoGPU reports whether dev, which is /dev, has no device file of an accelerator. A directory that
// cannot be read proves nothing, so NoGPU then returns false.
func NoGPU(dev string) bool {
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
