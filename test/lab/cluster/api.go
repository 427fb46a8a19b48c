package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// api sends requests to the cluster's API server as its administrator. Each request has a timeout of 3 s, for polling.
type api struct{ client *http.Client }

func (c cluster) api() (api, error) {
	pair, err := tls.LoadX509KeyPair(c.pki("admin.crt"), c.pki("admin.key"))
	if err != nil {
		return api{}, fmt.Errorf("read keys: %w", err)
	}
	ca, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		return api{}, fmt.Errorf("read keys: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return api{&http.Client{
		Timeout: 3 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}},
			// A connection from before a kill of the API server must not be reused.
			DisableKeepAlives: true,
		},
	}}, nil
}

// get decodes the JSON at path into v. If v is nil, it does not read the body of the answer.
func (a api) get(path string, v any) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, apiURL()+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("%s: %s: %s", path, resp.Status, strings.TrimSpace(string(body)))
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

func (a api) readyz() error { return a.get("/readyz", nil) }

// leaseTime returns when the node's kubelet last renewed its lease, or "" if there is no lease.
func (a api) leaseTime(name string) string {
	var lease struct{ Spec struct{ RenewTime string } }
	if a.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+name, &lease) != nil {
		return ""
	}
	return lease.Spec.RenewTime
}

// condition returns whether a node is Ready, and the message of its Ready condition.
func (a api) condition(name string) (ready bool, why string, err error) {
	var n struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := a.get("/api/v1/nodes/"+name, &n); err != nil {
		return false, "", err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True", c.Message, nil
		}
	}
	return false, "no Ready condition", nil
}

// nodeReady returns nil if the running kubelet has reported the node as Ready. For some time after a crash, the stored
// condition is still that of the previous kubelet, so the lease must have been renewed since lastLease.
func (a api) nodeReady(name, lastLease string) error {
	if now := a.leaseTime(name); now == "" || now == lastLease {
		return errors.New("the kubelet has not reported yet")
	}
	ready, why, err := a.condition(name)
	if err != nil {
		return err
	}
	if !ready {
		return errors.New("not Ready: " + why)
	}
	// This goes through the API server, whose pool may hold a connection to the kubelet from before a reboot. The first
	// request on such a connection fails, and that request must not be a test's.
	return a.get("/api/v1/nodes/"+name+"/proxy/healthz", nil)
}

func (c cluster) writeKubeconfig(path, cert string) error {
	return c.keys().Kubeconfig(path, apiURL(), cert)
}

// tokenVerb prints a service account's token with an earlier expiry than an API server
// accepts (at least ten minutes): the same claims, signed again with the cluster's key.
func (c cluster) tokenVerb(args []string) error {
	if len(args) != 2 || args[0] != "expire" {
		return usageError{"token: the only verb is expire SECONDS"}
	}
	seconds, err := strconv.Atoi(args[1])
	if err != nil {
		return usageError{"token expire: invalid number of seconds: " + args[1]}
	}
	der, err := keys.ReadPEM(c.pki("service-account.key"))
	if err != nil {
		return err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	token, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<16))
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	out, err := expiring(strings.TrimSpace(string(token)), key, time.Now().Add(time.Duration(seconds)*time.Second))
	if err != nil {
		return err
	}
	fmt.Println(out)
	return nil
}

// expiring returns token (a JWT) with another expiry, signed by key with ES256 (RFC 7518
// section 3.4): a signature is r and s, 32 bytes each.
func expiring(token string, key *ecdsa.PrivateKey, end time.Time) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("token: %d parts, not 3", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	claims["exp"] = json.RawMessage(strconv.FormatInt(end.Unix(), 10))
	if payload, err = json.Marshal(claims); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	signature := append(padded(r), padded(s)...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func padded(n *big.Int) []byte { return n.FillBytes(make([]byte, 32)) }

// connectionVerb breaks the API server's connections with the addresses of some pods. Other clients are not affected.
func (c cluster) connectionVerb(verb string, addresses []string) error {
	for _, a := range addresses {
		ip, err := netip.ParseAddr(a)
		if err != nil || !netip.MustParsePrefix(podNetwork).Contains(ip) {
			return usageError{"apiserver " + verb + ": " + a + " is not a pod's address"}
		}
	}
	list := strings.Join(addresses, " ")
	switch verb {
	case "cut":
		return c.say.step("connections with "+list+" reset", func() error { return cutConnections(addresses) })
	case "drop":
		return c.say.step("packets of "+list+" are dropped", func() error { return dropPackets(addresses) })
	}
	return c.say.step("packets pass", dropRules)
}

// cutConnections resets both ends of every connection at once (SOCK_DESTROY of the kernel, `ss -K`).
func cutConnections(addresses []string) error {
	var peers []string
	for _, a := range addresses {
		peers = append(peers, "dst "+a)
	}
	filter := fmt.Sprintf("( sport = :%s and ( %s ) )", apiPort, strings.Join(peers, " or "))
	out, err := exec.Command("ss", "-H", "-K", "-t", "-n", "state", "established", filter).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ss -K %s: %w: %s", filter, err, strings.TrimSpace(string(out)))
	}
	// Without CONFIG_INET_DIAG_DESTROY, ss destroys nothing and prints nothing.
	if len(strings.TrimSpace(string(out))) == 0 {
		return fmt.Errorf("ss -K %s: no connection found, or this kernel cannot destroy connections", filter)
	}
	return nil
}

// dropPackets puts rules in front of the others of our chain. dropRules removes them.
func dropPackets(addresses []string) error {
	for _, a := range addresses {
		for _, rule := range []string{"-s " + a + " -p tcp --dport " + apiPort, "-d " + a + " -p tcp --sport " + apiPort} {
			if err := iptables("-I " + chain + " " + rule + " -j DROP"); err != nil {
				return err
			}
		}
	}
	return nil
}
