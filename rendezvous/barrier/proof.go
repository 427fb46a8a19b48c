package barrier

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

const (
	nonceSize = 32
	proofSize = sha256.Size
)

// magic begins the coordinator's first frame. Its number is the version of the protocol.
const magic = "muster join 2\n"

// nonce returns a new nonce. Each connection has its own, so no proof fits another connection.
func nonce() [nonceSize]byte {
	var n [nonceSize]byte
	_, _ = rand.Read(n[:]) // never fails, or crashes the program (crypto/rand)
	return n
}

// nonces are the two nonces of a connection, one from each side.
type nonces struct{ theirs, ours [nonceSize]byte }

// Purposes of the token. Each has its own text, so that the proof of one side is never valid for
// the other.
const (
	byMember        = "muster join: a member"
	byCoordinator   = "muster join: rank 0"
	fromMember      = "muster join: frames of a member"
	fromCoordinator = "muster join: frames of rank 0"
)

// prove returns the keyed hash of a purpose, the nonces (the coordinator's first), and the rank
// that the member claims.
func prove(token []byte, purpose string, coordinator, member [nonceSize]byte, rank int) []byte {
	h := hmac.New(sha256.New, token)
	h.Write([]byte(purpose))
	h.Write(coordinator[:])
	h.Write(member[:])
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(rank)))
	return h.Sum(nil)
}

// seal computes the hashes of the frames in one direction.
type seal struct {
	key   hash.Hash
	count uint64
}

func newSeal(key []byte) *seal { return &seal{key: hmac.New(sha256.New, key)} }

// next returns the hash of the next frame in this direction.
func (s *seal) next(k kind, payload []byte) []byte {
	s.key.Reset()
	s.key.Write(binary.BigEndian.AppendUint64(nil, s.count))
	s.key.Write(appendHeader(nil, k, len(payload)))
	s.key.Write(payload)
	s.count++
	return s.key.Sum(nil)
}
