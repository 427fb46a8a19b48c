//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// markOf is in the environment of all that the workers of one cluster start: what a
// killed worker leaves behind is found by it.
func markOf(dir string) string { return "CLUSTER_TEST=" + dir }

// killMarked ends the processes that have mark in their environment.
func killMarked(mark string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append(env, 0), []byte(mark+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
		}
	}
}
