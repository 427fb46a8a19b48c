package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is where metrics are served.
const Path = "/metrics"

const (
	// mostScrapes bounds the scrapes at a time. Others get an error at once.
	mostScrapes = 4
	// scrapeTime bounds each half of a scrape.
	scrapeTime = 10 * time.Second
)

// server is the HTTP server, if there is one.
type server struct {
	http    *http.Server // nil: none
	serving sync.WaitGroup
	err     error // valid when serving is over
}

// Serve serves the metrics at an address until Close. It returns the address, which has the port that was
// chosen for port 0.
func (m *Metrics) Serve(address string) (net.Addr, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve metrics at %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes}))
	m.server.http = &http.Server{Handler: mux, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10}
	m.server.serving.Go(func() {
		if err := m.server.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			m.server.err = fmt.Errorf("serve metrics at %s: %w", address, err)
		}
	})
	return listener.Addr(), nil
}

// Close implements exporter.Sink. It lets scrapes in progress finish.
func (m *Metrics) Close(ctx context.Context) error {
	if m.server.http == nil {
		return nil
	}
	err := m.server.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("end the server of metrics: %w", err), m.server.http.Close())
	}
	m.server.serving.Wait()
	return errors.Join(err, m.server.err)
}
