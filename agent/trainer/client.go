package trainer

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// within is how long a report may take.
const within = 5 * time.Second

// ErrLater means that the server has had a report a moment ago, or is busy. The next report may
// succeed.
var ErrLater = errors.New("the server takes no report now")

// Client sends reports to one server. The caller must call Close.
type Client struct {
	url, token string // token is a path
	http       *http.Client
}

// FromEnv returns the client of the server that the environment names, or nil if it names none.
func FromEnv(getenv func(string) string) (*Client, error) {
	address := getenv(names.EnvTrainerURL)
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s=%s: want an https address", names.EnvTrainerURL, address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path := getenv(names.EnvTrainerCA); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names.EnvTrainerCA, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s=%s has no certificate", names.EnvTrainerCA, path)
		}
	}
	return &Client{url: address, token: getenv(names.EnvTrainerToken), http: &http.Client{
		Timeout:       within,
		Transport:     &http.Transport{TLSClientConfig: config, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Send sends a report, and waits until the server has it.
func (c *Client) Send(ctx context.Context, r Report) error {
	body, err := r.encode(time.Now())
	if err != nil {
		return fmt.Errorf("encode progress: %w", err)
	}
	token, err := os.ReadFile(c.token)
	if err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	defer response.Body.Close()
	why, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // only for people
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return ErrLater
	}
	return fmt.Errorf("report progress: the server answered %s: %s", response.Status, strings.TrimSpace(string(why)))
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
