// Command probe runs in the pods of the smoke test: it is a server that returns its host name, and small clients that
// check the cluster from inside.
//
//	probe serve           answers HTTP on :8080 with the host name, until SIGTERM
//	probe lookup NAME     prints the addresses of a name
//	probe fetch URL       prints the response of a URL, on a new connection
//	probe whoami          prints the user that the API server recognizes in the pod's token
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve()
	case len(args) == 2 && args[0] == "lookup":
		found, err := net.LookupHost(args[1])
		fmt.Println(strings.Join(found, " "))
		return err
	case len(args) == 2 && args[0] == "fetch":
		client := http.Client{Timeout: 5 * time.Second}
		resp, err := client.Get(args[1])
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(os.Stdout, resp.Body)
		return err
	case len(args) == 1 && args[0] == "whoami":
		return whoami()
	}
	return fmt.Errorf("unknown: %q", args)
}

func serve() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	server := http.Server{Addr: ":8080", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, host) })}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// whoami creates a SelfSubjectReview (authentication.k8s.io/v1) with the pod's own token.
func whoami() error {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	body := []byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`)
	req, err := http.NewRequest(http.MethodPost, "https://kubernetes.default.svc/apis/authentication.k8s.io/v1/selfsubjectreviews", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+string(token))
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var review struct {
		Status  json.RawMessage
		Message string
	}
	if err := json.NewDecoder(resp.Body).Decode(&review); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	var status struct{ UserInfo struct{ Username string } }
	if err := json.Unmarshal(review.Status, &status); err != nil {
		return fmt.Errorf("%s: %s", resp.Status, review.Message)
	}
	fmt.Println(status.UserInfo.Username)
	return nil
}
