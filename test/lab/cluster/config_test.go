package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// TestAddressesAreInTheBenchmarkingRange checks that no address is reachable from outside the machine.
func TestAddressesAreInTheBenchmarkingRange(t *testing.T) {
	all := netip.MustParsePrefix(allNetworks)
	if all != netip.MustParsePrefix("198.18.0.0/15") {
		t.Fatalf("allNetworks is %s", all)
	}
	pods, services := netip.MustParsePrefix(podNetwork), netip.MustParsePrefix(serviceSubnet)
	addresses := []string{hostIP, serviceIP, pods.Addr().String(), services.Addr().String()}
	var subnets []netip.Prefix
	for _, n := range nodes() {
		addresses = append(addresses, n.ip)
		subnet := netip.MustParsePrefix(n.subnet)
		if !pods.Contains(subnet.Addr()) || subnet.Bits() < pods.Bits() {
			t.Errorf("%s: %s is not in %s", n.name, subnet, pods)
		}
		for _, other := range subnets {
			if other.Overlaps(subnet) {
				t.Errorf("%s overlaps %s", subnet, other)
			}
		}
		subnets = append(subnets, subnet)
	}
	for _, a := range addresses {
		if !all.Contains(netip.MustParseAddr(a)) {
			t.Errorf("%s is not in %s", a, all)
		}
	}
	if pods.Overlaps(services) {
		t.Error("pods and services overlap")
	}
}

func TestFilterDropsBeforeItAccepts(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(filterRules([]string{"eth0", "wlan1"})), "\n")
	verdicts := ""
	for _, l := range lines {
		switch {
		case strings.HasSuffix(l, "DROP"):
			verdicts += "D"
		case strings.HasSuffix(l, "ACCEPT"):
			verdicts += "A"
		}
	}
	if verdicts != "DDDDAA" {
		t.Fatalf("verdicts %s in:\n%s", verdicts, strings.Join(lines, "\n"))
	}
}

func TestDevicesIn(t *testing.T) {
	for in, want := range map[string][]string{
		"":                                  nil,
		"default via 192.0.2.1 dev eth0 \n": {"eth0"},
		"default dev ppp0 scope link\ndefault via 192.0.2.1 dev eth0 metric 5\n": {"ppp0", "eth0"},
	} {
		if got := devicesIn(in); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestStateDir(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"own":     {map[string]string{"MUSTER_CLUSTER_DIR": "/a/b", "XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/a/b"},
		"xdg":     {map[string]string{"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/muster/cluster"},
		"home":    {map[string]string{"HOME": "/h"}, "/h/.cache/muster/cluster"},
		"nothing": {nil, ""},
	} {
		got, err := stateDir(func(k string) string { return tc.env[k] })
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestCheckRefusesDirectories(t *testing.T) {
	for dir, good := range map[string]bool{
		"/root/.cache/muster/cluster":    true,
		"/running/cluster":               true,
		"/run/cluster":                   false,
		"/run":                           false,
		"/" + strings.Repeat("long", 30): false,
	} {
		if err := (cluster{dir: dir}).check(); (err == nil) != good {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestPKI(t *testing.T) {
	c := cluster{dir: t.TempDir()}
	if err := c.keys().Make(certificates()); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("ca.crt holds no certificate")
	}
	for _, want := range certificates() {
		der, err := keys.ReadPEM(c.pki(want.File + ".crt"))
		if err != nil {
			t.Fatal(err)
		}
		crt, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if crt.Subject.CommonName != want.User || strings.Join(crt.Subject.Organization, "") != want.Group {
			t.Errorf("%s: subject is %s", want.File, crt.Subject)
		}
		for _, name := range append(want.Names, "") {
			opts := x509.VerifyOptions{Roots: pool, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
			if _, err := crt.Verify(opts); err != nil {
				t.Errorf("%s as %q: %v", want.File, name, err)
			}
		}
		if st, err := os.Stat(c.pki(want.File + ".key")); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s.key: %v %v", want.File, st.Mode(), err)
		}
	}
	if err := c.keys().Make(certificates()); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(c.pki("ca.crt")); !bytes.Equal(again, ca) {
		t.Error("a second run created a new authority")
	}
}

func TestMissingPackages(t *testing.T) {
	files := map[string]string{"/bin/a": "pkg-a", "/bin/c": "pkg-c", "/bin/b": "pkg-b"}
	got := missingPackages(files, func(f string) bool { return f == "/bin/b" })
	if !slices.Equal(got, []string{"pkg-a", "pkg-c"}) {
		t.Fatalf("got %q", got)
	}
}

func TestCNIConfigIsJSON(t *testing.T) {
	for _, n := range nodes() {
		var v map[string]any
		if err := json.Unmarshal([]byte(cniConfig(n)), &v); err != nil {
			t.Errorf("%s: %v", n.name, err)
		}
	}
}

func TestImageArchive(t *testing.T) {
	data, err := imageArchive("localhost/x:1", "/x", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := readArchive(file)
	if err != nil || !slices.Equal(a.names, []string{"localhost/x:1"}) || a.digest != digest(data) {
		t.Fatalf("got %+v, %v", a, err)
	}
	for name, bad := range map[string][]byte{"text": []byte("not a tar"), "empty": nil} {
		if _, err := archiveNames(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFullName(t *testing.T) {
	for in, want := range map[string]string{
		"mpi:1":                  "docker.io/library/mpi:1",
		"me/mpi:1":               "docker.io/me/mpi:1",
		"localhost/mpi:1":        "localhost/mpi:1",
		"ghcr.io/a/b:1":          "ghcr.io/a/b:1",
		"registry:5000/mpi:test": "registry:5000/mpi:test",
	} {
		if got := fullName(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestAPIServerWritesAnAuditLog checks the flags. up restarts an API server whose command line differs, such as one
// without an audit log.
func TestAPIServerWritesAnAuditLog(t *testing.T) {
	c := clusterOf(t.TempDir(), releases()[0])
	if err := c.writeConfiguration(); err != nil {
		t.Fatal(err)
	}
	argv := c.argv("kube-apiserver")
	for flag, path := range map[string]string{"--audit-policy-file=": c.auditPolicy(), "--audit-log-path=": c.auditLog()} {
		if !slices.Contains(argv, flag+path) {
			t.Errorf("no %s%s in %q", flag, path, argv)
		}
	}
	if text, err := os.ReadFile(c.auditPolicy()); err != nil || string(text) != auditRules {
		t.Fatalf("the policy is not written: %q, %v", text, err)
	}
}

func TestExpiring(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding
	token := b64.EncodeToString([]byte(`{"alg":"ES256"}`)) + "." + b64.EncodeToString([]byte(`{"exp":1,"sub":"me"}`)) + ".c2ln"

	got, err := expiring(token, key, time.Unix(1234, 0))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(got, ".")
	payload, err := b64.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Exp int
		Sub string
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Exp != 1234 || claims.Sub != "me" {
		t.Errorf("claims %s, %v", payload, err)
	}
	signature, err := b64.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		t.Fatalf("signature of %d bytes, %v", len(signature), err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	if !ecdsa.Verify(&key.PublicKey, sum[:], r, s) {
		t.Error("the signature does not match the key")
	}

	for _, bad := range []string{"", "a.b", "a.!.c", "a.YQ.c"} {
		if _, err := expiring(bad, key, time.Now()); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
