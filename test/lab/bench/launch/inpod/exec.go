package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// execAll runs `true` in all workers at once, and prints how many seconds passed
// until the last had ended.
func execAll(ctx context.Context, cfg *rest.Config, namespace string, workers map[string]string) error {
	began := time.Now()
	errs := make(chan error, len(workers))
	var all sync.WaitGroup
	for pod := range workers {
		all.Go(func() { errs <- execTrue(ctx, cfg, namespace, pod) })
	}
	all.Wait()
	took := time.Since(began)
	close(errs)
	var err error
	for one := range errs {
		err = errors.Join(err, one)
	}
	if err == nil {
		fmt.Println(took.Seconds())
	}
	return err
}

func execTrue(ctx context.Context, cfg *rest.Config, namespace, pod string) error {
	query := url.Values{"command": {"true"}, "container": {"worker"}, "stdout": {"true"}, "stderr": {"true"}}
	address := fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/exec?%s", strings.TrimSuffix(cfg.Host, "/"), namespace, pod, query.Encode())
	executor, err := remotecommand.NewWebSocketExecutor(cfg, "GET", address)
	if err != nil {
		return err
	}
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		return fmt.Errorf("exec into %s: %w", pod, err)
	}
	return nil
}
