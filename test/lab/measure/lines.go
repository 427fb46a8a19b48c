//go:build linux

package measure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

// Line is one that a container has written, and when, by containerd's stamp.
type Line struct {
	At   time.Time
	Text string
}

// Lines reads what a pod's container has written so far.
func Lines(ctx context.Context, namespace, pod string) ([]Line, error) {
	log, err := kube.Kubectl(ctx, namespace, nil, "logs", "--timestamps", pod)
	if err != nil {
		return nil, err
	}
	return ParseLines(log)
}

// ParseLines reads a log whose lines begin with stamps.
func ParseLines(log string) (list []Line, err error) {
	for text := range strings.Lines(log) {
		stamp, text, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		list = append(list, Line{at, text})
	}
	return list, nil
}

// Versions are what commands of sh in a pod say, and the API server's and kubectl's.
func Versions(ctx context.Context, namespace, pod, commands string) ([]string, error) {
	said, err := kube.Kubectl(ctx, namespace, nil, "exec", pod, "--", "sh", "-c", commands)
	if err != nil {
		return nil, err
	}
	cluster, err := kube.Kubectl(ctx, namespace, nil, "version")
	return strings.Split(strings.TrimSpace(said+cluster), "\n"), err
}
