package linked

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	var all []Package
	require.NoError(t, json.Unmarshal([]byte(`[
		{"ImportPath": "fmt", "Standard": true},
		{"ImportPath": "crypto/sha256", "Standard": true}, {"ImportPath": "crypto/tls", "Standard": true}, {"ImportPath": "cryptox"},
		{"ImportPath": "net/http/internal", "Standard": true}, {"ImportPath": "net/httpx", "Standard": true},
		{"ImportPath": "golang.org/x/sys/unix", "Module": {"Path": "golang.org/x/sys"}},
		{"ImportPath": "golang.org/x/sys/cpu", "Module": {"Path": "golang.org/x/sys"}},
		{"ImportPath": "k8s.io/api", "Module": {"Path": "k8s.io/api"}},
		{"ImportPath": "github.com/musterhq/muster/exec", "Module": {"Path": "github.com/musterhq/muster", "Main": true}}
	]`), &all))
	strict := Binary{Name: "b", Only: []string{"golang.org/x/sys"}, Forbidden: []string{"net/http", "k8s.io"}, Crypto: []string{"crypto/sha256"}}
	require.Equal(t, Found{Packages: 10, Modules: 2, Breaches: []string{
		"b depends on crypto/tls", "b depends on net/http/internal",
		"b depends on k8s.io/api of k8s.io/api; it may have golang.org/x/sys", "b depends on k8s.io/api",
	}}, strict.judge(all, map[string]bool{"crypto/sha256": true}))
	require.Empty(t, Binary{Name: "b", Forbidden: []string{"net"}}.judge(all[:4], nil).Breaches)
}

func TestListSaysWhatGoListSays(t *testing.T) {
	_, err := List("./none-of-this-name")
	require.ErrorContains(t, err, "none-of-this-name")
}
