package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line returns a line as kube-apiserver 1.34 writes it, without the fields that we do not read.
func line(second int, agent, user, verb, ref string, code int) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":%q,"user":{"username":%q,"groups":["x"]},`+
		`"userAgent":%q,"objectRef":{%s},"responseStatus":{"metadata":{},"code":%d},"requestReceivedTimestamp":"2026-11-22T13:48:%02d.902841Z"}`+"\n", verb, user, agent, ref, code, second)
}

func TestSince(t *testing.T) {
	const (
		controller = "muster-controller/v0.1.0"
		launcher   = "muster-launcher/devel"
		admin      = "admin"
		token      = "system:serviceaccount:ns:pi-launcher"
		pods       = `"resource":"pods","namespace":"ns","name":"pi-worker-0"`
	)
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "audit-2026-11-22T13-48-10.000.log"), []byte(
		line(1, controller, admin, "create", pods, 201)+
			line(9, controller, admin, "create", pods, 201)), 0o600))
	require.NoError(t, os.WriteFile(path, []byte(
		line(11, controller, admin, "create", `"resource":"pods","namespace":"elsewhere"`, 201)+
			line(12, controller, admin, "watch", `"resource":"pods","namespace":"ns"`, 200)+
			line(12, controller+"/leader-election", admin, "update", `"resource":"leases","namespace":"ns"`, 200)+
			line(13, controller, admin, "update", `"resource":"launchjobs","subresource":"status","namespace":"ns"`, 200)+
			line(13, controller, admin, "list", `"resource":"pods"`, 200)+
			line(13, "kubectl/v1.34.2", admin, "get", pods, 403)+
			line(14, launcher, token, "watch", `"resource":"pods","namespace":"ns"`, 403)+
			line(14, "curl/8", token, "get", pods, 403)+
			line(15, controller, admin, "create", `"resource":"roles","namespace":"elsewhere"`, 403)+
			`{"kind":"Event","verb":"cre`), 0o600))
	at := func(second int) time.Time { return time.Date(2026, 11, 22, 13, 48, second, 0, time.UTC) }

	all, err := Since(path, at(5))
	require.NoError(t, err)
	require.Len(t, all, 10)
	require.Equal(t, map[string]int{"create pods": 1, "update launchjobs/status": 1, "list pods": 1}, Count(Of(all, "muster-controller", "ns")))
	var who []string
	for _, r := range Forbidden(all, "ns") {
		who = append(who, r.UserAgent+" "+r.Verb+" "+r.Resource)
	}
	require.Equal(t, []string{launcher + " watch pods", "curl/8 get pods", controller + " create roles"}, who)

	_, err = Since(path, at(59))
	require.ErrorContains(t, err, "nothing since 13:48:59")
	_, err = Since(filepath.Join(dir, "none.log"), at(5))
	require.ErrorIs(t, err, os.ErrNotExist)
}
