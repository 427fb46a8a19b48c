//go:build linux

package contract

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Marked finds the processes with an entry, NAME=VALUE, in their environment. Those
// that have ended and only wait to be collected have none any more.
func Marked(entry string) (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+entry+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillMarked ends what Marked finds: what a killed worker has left behind.
func KillMarked(entry string) {
	for _, pid := range Marked(entry) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
}
