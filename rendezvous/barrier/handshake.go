package barrier

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// handshakeTime is the limit for each step of a handshake, on a machine that handles a thousand of
// them.
const handshakeTime = 8 * time.Second

// ErrToken reports that the other side does not hold our token.
var ErrToken = errors.New("it has another token")

// mostRank is the largest rank that a stranger may claim.
const mostRank = 1 << 20

// welcome is the coordinator's half of the handshake. It sends its nonce first, so a member's proof
// is fresh. With ErrToken, claimed is the rank that the other side claims.
func welcome(nc net.Conn, token []byte) (c *conn, claimed int, err error) {
	c = &conn{Conn: nc, most: kindNews.limit()}
	n := nonces{ours: nonce()}
	if err := c.send(kindHello, append([]byte(magic), n.ours[:]...)); err != nil {
		return nil, 0, err
	}
	payload, err := c.expect(kindProve)
	if err != nil {
		return nil, 0, err
	}
	if len(payload) != nonceSize+4+proofSize {
		return nil, 0, fmt.Errorf("%w: proof of %d bytes", ErrProtocol, len(payload))
	}
	copy(n.theirs[:], payload)
	claimed = int(binary.BigEndian.Uint32(payload[nonceSize:]))
	if claimed > mostRank {
		return nil, 0, fmt.Errorf("%w: rank %d", ErrProtocol, claimed)
	}
	if !hmac.Equal(payload[nonceSize+4:], prove(token, byMember, n.ours, n.theirs, claimed)) {
		return c, claimed, ErrToken
	}
	if err := c.send(kindProved, prove(token, byCoordinator, n.ours, n.theirs, claimed)); err != nil {
		return nil, claimed, err
	}
	c.in = newSeal(prove(token, fromMember, n.ours, n.theirs, claimed))
	c.out = newSeal(prove(token, fromCoordinator, n.ours, n.theirs, claimed))
	return c, claimed, nil
}

// enter is the member's half of the handshake. It returns ErrToken if one side has another token.
func enter(nc net.Conn, token []byte, rank int) (*conn, error) {
	c := &conn{Conn: nc, most: kindOrder.limit()}
	payload, err := c.expect(kindHello)
	if err != nil {
		return nil, err
	}
	n := nonces{ours: nonce()}
	if len(payload) != len(magic)+nonceSize || string(payload[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: the other side runs another release, or is not agent join", ErrProtocol)
	}
	copy(n.theirs[:], payload[len(magic):])
	proof := binary.BigEndian.AppendUint32(append([]byte(nil), n.ours[:]...), uint32(rank))
	if err := c.send(kindProve, append(proof, prove(token, byMember, n.theirs, n.ours, rank)...)); err != nil {
		return nil, err
	}
	k, payload, err := c.receive(handshakeTime)
	switch {
	case err != nil:
		return nil, err
	case k == kindRefuse:
		return nil, ErrToken // the only answer to a peer that has proved nothing
	case k != kindProved:
		return nil, fmt.Errorf("%w: frame of kind %d, want a proof", ErrProtocol, k)
	case !hmac.Equal(payload, prove(token, byCoordinator, n.theirs, n.ours, rank)):
		return nil, ErrToken
	}
	c.in = newSeal(prove(token, fromCoordinator, n.theirs, n.ours, rank))
	c.out = newSeal(prove(token, fromMember, n.theirs, n.ours, rank))
	return c, nil
}
