package secure

import (
	"crypto/ecdh"
	"testing"

	"github.com/flynn/noise"
	"github.com/stretchr/testify/require"
)

// TestCurveIsNoises checks that a curve computes what noise.DH25519 does, with keys of its handshake
// and with others, and refuses the same public keys.
func TestCurveIsNoises(t *testing.T) {
	static, err := newKey()
	require.NoError(t, err)
	c := &curve{keys: []*ecdh.PrivateKey{static}}
	made, err := c.GenerateKeypair(nil)
	require.NoError(t, err)
	other, err := noise.DH25519.GenerateKeypair(nil)
	require.NoError(t, err)
	for name, pair := range map[string]noise.DHKey{"static": pairOf(static), "of the handshake": made, "another": other} {
		for what, public := range map[string][]byte{"a key": other.Public, "its own": pair.Public, "low order": make([]byte, 32), "too short": {1}} {
			want, refused := noise.DH25519.DH(pair.Private, public)
			got, err := c.DH(pair.Private, public)
			require.Equal(t, refused == nil, err == nil, "%s, %s: %v", name, what, err)
			require.Equal(t, want, got, "%s, %s", name, what)
		}
	}
	require.Equal(t, noise.DH25519.DHLen(), c.DHLen())
	require.Equal(t, noise.DH25519.DHName(), c.DHName())
}
