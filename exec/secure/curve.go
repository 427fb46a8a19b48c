package secure

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/flynn/noise"
)

// curve is X25519 for one handshake. It computes what noise.DH25519 does, and keeps the private keys
// in a form in which their public keys are known. noise.DH25519 computes those again in each
// operation, which doubles its cost.
type curve struct {
	keys []*ecdh.PrivateKey // the process's own, and that of the handshake once it has been made
}

// newKey returns a new key, for a process or for one handshake.
func newKey() (*ecdh.PrivateKey, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

// pairOf returns a key as the handshake takes it.
func pairOf(key *ecdh.PrivateKey) noise.DHKey {
	return noise.DHKey{Private: key.Bytes(), Public: key.PublicKey().Bytes()}
}

// GenerateKeypair implements noise.DHFunc. It takes its random bytes from the system.
func (c *curve) GenerateKeypair(io.Reader) (noise.DHKey, error) {
	key, err := newKey()
	if err != nil {
		return noise.DHKey{}, err
	}
	c.keys = append(c.keys, key)
	return pairOf(key), nil
}

// DH implements noise.DHFunc. Like noise.DH25519 it refuses public keys of low order (RFC 7748,
// section 6.1).
func (c *curve) DH(private, public []byte) ([]byte, error) {
	for _, key := range c.keys {
		if bytes.Equal(key.Bytes(), private) {
			peer, err := ecdh.X25519().NewPublicKey(public)
			if err != nil {
				return nil, err
			}
			return key.ECDH(peer)
		}
	}
	return noise.DH25519.DH(private, public)
}

// DHLen implements noise.DHFunc.
func (c *curve) DHLen() int { return noise.DH25519.DHLen() }

// DHName implements noise.DHFunc.
func (c *curve) DHName() string { return noise.DH25519.DHName() }
