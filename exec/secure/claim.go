package secure

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// ErrClaim reports a claim or an answer that is malformed, not signed by the job's launcher, or
// meant for another worker.
var ErrClaim = errors.New("claim not accepted")

const (
	// version is the first byte of claims and answers.
	version = 1
	// signed begins everything that a launcher's key signs.
	signed = "muster network 1: claim of a launcher\x00"
	// mostText is the limit in bytes of a text in a claim or an answer. Names of Kubernetes have at
	// most 253.
	mostText = 255
)

// Claim is what a launcher says of itself, and which worker it wants.
type Claim struct {
	Job    string
	Epoch  wire.Epoch
	Worker string // name of the pod
	UID    string // uid of the pod
	Trunk  bool   // the connection is a trunk (exec/relay), not a link
}

// Answer is what a worker says of itself.
type Answer struct {
	Worker   string // name of the pod
	UID      string // uid of the pod; "" if the worker does not know it
	Instance string // new for each start of PID 1
}

// encode returns the claim without its signature. Texts that are too long are an error.
func (c Claim) encode() ([]byte, error) {
	b := []byte{version}
	b = binary.BigEndian.AppendUint64(b, uint64(c.Epoch.Created))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Epoch.Restarts))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Epoch.Started))
	if c.Trunk {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return appendTexts(b, c.Job, c.Epoch.UID, c.Worker, c.UID)
}

// sign returns the claim with a signature over it and the launcher's X25519 key.
func (c Claim) sign(key LauncherKey, static []byte) ([]byte, error) {
	b, err := c.encode()
	if err != nil {
		return nil, err
	}
	return append(b, ed25519.Sign(key.sign, statement(b, static))...), nil
}

// verify parses a signed claim, and checks that the job's launcher key has signed it for static.
func verify(key WorkerKey, b, static []byte) (c Claim, err error) {
	if len(b) < ed25519.SignatureSize {
		return c, fmt.Errorf("%w: it has %d bytes", ErrClaim, len(b))
	}
	body, signature := b[:len(b)-ed25519.SignatureSize], b[len(b)-ed25519.SignatureSize:]
	if !ed25519.Verify(key.verify, statement(body, static), signature) {
		return c, fmt.Errorf("%w: the launcher's key has not signed it", ErrClaim)
	}
	return parseClaim(body)
}

func statement(body, static []byte) []byte {
	return append(append([]byte(signed), body...), static...)
}

func parseClaim(b []byte) (c Claim, err error) {
	const fixed = 1 + 3*8 + 1
	if len(b) < fixed || b[0] != version || b[fixed-1] > 1 {
		return c, fmt.Errorf("%w: malformed", ErrClaim)
	}
	c.Epoch.Created = int64(binary.BigEndian.Uint64(b[1:]))
	c.Epoch.Restarts = int(binary.BigEndian.Uint64(b[9:]))
	c.Epoch.Started = int64(binary.BigEndian.Uint64(b[17:]))
	c.Trunk = b[fixed-1] == 1
	return c, parseTexts(b[fixed:], &c.Job, &c.Epoch.UID, &c.Worker, &c.UID)
}

func (a Answer) encode() ([]byte, error) {
	return appendTexts([]byte{version}, a.Worker, a.UID, a.Instance)
}

func parseAnswer(b []byte) (a Answer, err error) {
	if len(b) < 1 || b[0] != version {
		return a, fmt.Errorf("%w: malformed answer", ErrClaim)
	}
	return a, parseTexts(b[1:], &a.Worker, &a.UID, &a.Instance)
}

// appendTexts appends each text after one byte with its length.
func appendTexts(b []byte, texts ...string) ([]byte, error) {
	for _, t := range texts {
		if len(t) > mostText {
			return nil, fmt.Errorf("%w: a name has %d bytes, at most %d", ErrClaim, len(t), mostText)
		}
		b = append(append(b, byte(len(t))), t...)
	}
	return b, nil
}

// parseTexts is the reverse of appendTexts. It accepts no bytes after the last text.
func parseTexts(b []byte, into ...*string) error {
	for _, t := range into {
		if len(b) == 0 || len(b)-1 < int(b[0]) {
			return fmt.Errorf("%w: truncated", ErrClaim)
		}
		n := 1 + int(b[0])
		*t, b = string(b[1:n]), b[n:]
	}
	if len(b) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrClaim, len(b))
	}
	return nil
}
