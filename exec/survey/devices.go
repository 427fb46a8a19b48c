//go:build linux

package survey

import (
	"os"
	"strings"
)

// kinds maps the beginning of a device file's name to a kind of device. A number must follow, so
// that control devices such as nvidiactl do not count.
var kinds = []struct{ dir, prefix, kind string }{
	{"dev", "nvidia", "nvidia"},
	{"dev", "neuron", "neuron"},
	{"dev", "davinci", "ascend"},
	{"dev", "accel", "tpu"},
	{"dev/accel", "accel", "gaudi"},
	{"dev/infiniband", "uverbs", "rdma"},
}

// devices counts device files by kind. It returns nil if /dev cannot be read.
func (w Where) devices() map[string]int {
	if _, err := os.ReadDir(w.path("dev")); err != nil {
		return nil
	}
	found := map[string]int{}
	for _, k := range kinds {
		entries, _ := os.ReadDir(w.path(k.dir)) // none: no such device
		for _, e := range entries {
			if number, ok := strings.CutPrefix(e.Name(), k.prefix); ok && isNumber(number) {
				found[k.kind]++
			}
		}
	}
	if n := w.amd(); n > 0 {
		found["amd"] = n
	}
	return found
}

// amd counts AMD's accelerators. They need /dev/kfd, and each has a render node. A machine's
// display has a render node without kfd.
func (w Where) amd() int {
	if _, err := os.Lstat(w.path("dev/kfd")); err != nil {
		return 0
	}
	entries, _ := os.ReadDir(w.path("dev/dri")) // none: no accelerator
	n := 0
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), "renderD"); ok && isNumber(number) {
			n++
		}
	}
	return n
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
