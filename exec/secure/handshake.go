package secure

import (
	"crypto/ecdh"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/flynn/noise"

	"github.com/musterhq/muster/exec/wire"
)

const (
	// preface begins each connection, and its number is the version. Both sides mix it into the
	// handshake.
	preface = "muster network 1"
	// mostMessage is the limit in bytes of a handshake message. The longest claim has 1,114 bytes,
	// and Noise adds 96.
	mostMessage = 1280
)

// ErrRefused reports that a worker closed the connection instead of answering. It does not say why:
// it has another key, is another pod, or belongs to another job.
var ErrRefused = errors.New("the worker did not accept the launcher's proof")

// ErrStranger reports that a peer has not proved that it is a launcher of this job.
var ErrStranger = errors.New("not a launcher of this job")

// Launcher proves to workers that this process is a launcher of their job. It may be used by any
// number of goroutines.
type Launcher struct {
	key    LauncherKey
	static *ecdh.PrivateKey
	job    string
	epoch  wire.Epoch
	trunk  bool
}

// NewLauncher returns a Launcher with an X25519 key of its own.
func NewLauncher(key LauncherKey, job string, epoch wire.Epoch) (*Launcher, error) {
	static, err := newKey()
	if err != nil {
		return nil, err
	}
	return &Launcher{key: key, static: static, job: job, epoch: epoch}, nil
}

// Trunks returns the same launcher for connections that are trunks.
func (l *Launcher) Trunks() *Launcher {
	trunks := *l
	trunks.trunk = true
	return &trunks
}

// Guard checks for a worker who connects. It may be used by any number of goroutines.
type Guard struct {
	key    WorkerKey
	static *ecdh.PrivateKey
	job    string
	self   Answer
}

// NewGuard returns a Guard with an X25519 key of its own. job is "" if the worker accepts any.
func NewGuard(key WorkerKey, job string, self Answer) (*Guard, error) {
	static, err := newKey()
	if err != nil {
		return nil, err
	}
	return &Guard{key: key, static: static, job: job, self: self}, nil
}

func handshake(initiator bool, static *ecdh.PrivateKey, secret [secretSize]byte) (*noise.HandshakeState, error) {
	suite := noise.NewCipherSuite(&curve{keys: []*ecdh.PrivateKey{static}}, noise.CipherAESGCM, noise.HashSHA256)
	return noise.NewHandshakeState(noise.Config{
		CipherSuite: suite, Pattern: noise.HandshakeIX, Initiator: initiator, StaticKeypair: pairOf(static),
		Prologue: []byte(preface), PresharedKey: secret[:], PresharedKeyPlacement: 0,
	})
}

// Prove proves to the worker at the other end of nc that this process is a launcher, and checks that
// the worker is the pod of that name and uid. The error wraps ErrRefused, ErrClaim, or that of nc.
// The caller bounds the time by a deadline of nc.
func (l *Launcher) Prove(nc net.Conn, worker, uid string) (*Conn, Answer, error) {
	var a Answer
	hs, err := handshake(true, l.static, l.key.secret)
	if err != nil {
		return nil, a, fmt.Errorf("prepare the handshake: %w", err)
	}
	claim, err := Claim{Job: l.job, Epoch: l.epoch, Worker: worker, UID: uid, Trunk: l.trunk}.sign(l.key, l.static.PublicKey().Bytes())
	if err != nil {
		return nil, a, err
	}
	first := append([]byte(preface), 0, 0)
	first, _, _, err = hs.WriteMessage(first, claim)
	if err != nil {
		return nil, a, fmt.Errorf("write the claim: %w", err)
	}
	binary.BigEndian.PutUint16(first[len(preface):], uint16(len(first)-len(preface)-2))
	if _, err := nc.Write(first); err != nil {
		return nil, a, fmt.Errorf("send the claim: %w", err)
	}
	message, err := readMessage(nc)
	if err != nil {
		return nil, a, whyUnanswered(err)
	}
	payload, out, in, err := hs.ReadMessage(nil, message)
	if err != nil {
		return nil, a, fmt.Errorf("%w: its answer is not authentic", ErrRefused)
	}
	if a, err = parseAnswer(payload); err != nil {
		return nil, a, err
	}
	if a.Worker != worker || a.UID != "" && uid != "" && a.UID != uid {
		return nil, a, fmt.Errorf("%w: worker %q answers in place of %q", ErrClaim, a.Worker, worker)
	}
	c := newConn(nc, in, out, hs.PeerStatic())
	if err := c.confirm(); err != nil { // the worker reads nothing before this record
		return nil, a, fmt.Errorf("confirm the handshake: %w", err)
	}
	return c, a, nil
}

// whyUnanswered adds ErrRefused to an error that means that the worker has closed the connection.
func whyUnanswered(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("wait for the worker's answer: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// Admit checks who is at the other end of nc. It answers only a claim that the job's launcher has
// signed for this worker, and returns only when the launcher has confirmed the answer. The error
// wraps ErrStranger, ErrClaim, or that of nc. The caller bounds the time by a deadline of nc.
func (g *Guard) Admit(nc net.Conn) (*Conn, Claim, error) {
	var c Claim
	start := make([]byte, len(preface))
	if _, err := io.ReadFull(nc, start); err != nil {
		return nil, c, fmt.Errorf("read the claim: %w", err)
	}
	if string(start) != preface {
		return nil, c, fmt.Errorf("%w: it speaks another protocol", ErrStranger)
	}
	message, err := readMessage(nc)
	if err != nil {
		return nil, c, fmt.Errorf("read the claim: %w", err)
	}
	hs, err := handshake(false, g.static, g.key.secret)
	if err != nil {
		return nil, c, fmt.Errorf("prepare the handshake: %w", err)
	}
	payload, _, _, err := hs.ReadMessage(nil, message)
	if err != nil {
		return nil, c, fmt.Errorf("%w: it has another key", ErrStranger)
	}
	if c, err = verify(g.key, payload, hs.PeerStatic()); err != nil {
		return nil, c, err
	}
	if err := g.judge(c); err != nil {
		return nil, c, err
	}
	conn, err := g.answer(nc, hs)
	return conn, c, err
}

// judge compares a claim with what the worker knows of itself.
func (g *Guard) judge(c Claim) error {
	switch {
	case c.Worker != g.self.Worker:
		return fmt.Errorf("%w: it is for worker %q, this is %q", ErrClaim, c.Worker, g.self.Worker)
	case g.self.UID != "" && c.UID != "" && c.UID != g.self.UID:
		return fmt.Errorf("%w: it is for another pod with the name %q", ErrClaim, c.Worker)
	case g.job != "" && c.Job != "" && c.Job != g.job:
		return fmt.Errorf("%w: it is for job %q, this is %q", ErrClaim, c.Job, g.job)
	}
	return nil
}

// answer sends the answer, and waits until the launcher has proved by an empty record that it could
// read it. A peer that repeats the claim of another connection cannot make that record.
func (g *Guard) answer(nc net.Conn, hs *noise.HandshakeState) (*Conn, error) {
	payload, err := g.self.encode()
	if err != nil {
		return nil, err
	}
	message, in, out, err := hs.WriteMessage([]byte{0, 0}, payload)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	binary.BigEndian.PutUint16(message, uint16(len(message)-2))
	if _, err := nc.Write(message); err != nil {
		return nil, fmt.Errorf("send the answer: %w", err)
	}
	c := newConn(nc, in, out, hs.PeerStatic())
	if err := c.confirmed(); err != nil {
		return nil, err
	}
	return c, nil
}

// readMessage reads a handshake message after its length.
func readMessage(r io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(length[:]))
	if n > mostMessage {
		return nil, fmt.Errorf("%w: a handshake message of %d bytes", ErrClaim, n)
	}
	message := make([]byte, n)
	_, err := io.ReadFull(r, message)
	return message, err
}
