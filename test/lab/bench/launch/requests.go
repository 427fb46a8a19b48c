//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/test/suite/audit"
)

// settle is how long after its end a request's line may be missing in the audit log: a watch's
// is written when the server sees that its client has gone.
const settle = 2 * time.Second

// count fills in the requests of launches that began after from, by the audit log.
func (w *world) count(ctx context.Context, workers int, from time.Time, all map[string][]sample) error {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	list, err := audit.Since(w.audit, from)
	if err != nil {
		return err
	}
	for _, c := range contenders() {
		fill(all[c.name], list, "system:serviceaccount:"+w.ns+":"+c.launcher, workers)
	}
	return nil
}

// fill counts a user's requests during each launch.
func fill(samples []sample, list []audit.Request, user string, workers int) {
	for i := range samples {
		n := 0
		for _, r := range list {
			if r.User == user && !r.Received.Before(samples[i].from) && r.Received.Before(samples[i].to) {
				n++
			}
		}
		samples[i].Requests = float64(n) / float64(workers)
	}
}

// streams is how many exec streams the API server holds.
func (w *world) streams(ctx context.Context) (float64, error) {
	httpClient, err := rest.HTTPClientFor(w.cfg)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.cfg.Host+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("read metrics: %s", resp.Status)
	}
	scan := bufio.NewScanner(resp.Body)
	scan.Buffer(nil, 1<<20)
	total := 0.0
	for scan.Scan() {
		n, err := execStreams(scan.Text())
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, scan.Err()
}

// execStreams is a line's share of the open exec streams.
func execStreams(line string) (float64, error) {
	labels, ok := strings.CutPrefix(line, "apiserver_longrunning_requests{")
	if !ok || !strings.Contains(labels, `resource="pods"`) || !strings.Contains(labels, `subresource="exec"`) {
		return 0, nil
	}
	n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	return n, nil
}
