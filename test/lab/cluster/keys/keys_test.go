package keys

import (
	"strings"
	"testing"
)

func TestRenderedKubeconfig(t *testing.T) {
	text := string(renderKubeconfig("https://198.19.255.1:6443", []byte("CA"), []byte("CRT"), []byte("KEY")))
	for _, want := range []string{`server: "https://198.19.255.1:6443"`, "certificate-authority-data: Q0E=", "client-key-data: S0VZ", "current-context: muster"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
