package wire

// AskListenRecord makes the worker listen for other workers of the job, so that they can measure
// the network between them. Listening ends with the connection of the launcher, with the next such
// question, or after LifeMillis, 60 s at most.
type AskListenRecord struct {
	// Address is the IP address to listen at; the kernel chooses the port.
	Address string `json:"address"`
	// Token is a secret of PairTokenSize bytes, which a peer has to know.
	Token      []byte `json:"token"`
	LifeMillis int64  `json:"lifeMillis"`
}

// PairTokenSize is the length of AskListenRecord.Token in bytes.
const PairTokenSize = 16

// AskDialRecord makes the worker connect to other workers that listen.
type AskDialRecord struct {
	// From is the local address to connect from; "": the kernel chooses.
	From  string       `json:"from,omitempty"`
	Peers []PeerRecord `json:"peers"` // MostPeers at most
	Token []byte       `json:"token"`
	// TimeoutMillis bounds what is done with one peer, 10 s at most.
	TimeoutMillis int64 `json:"timeoutMillis"`
	// Bytes is how much to send to each peer to measure throughput, MostTransfer at most, and
	// TransferMillis how long to send at most. 0: only the round trip is measured.
	Bytes          int64 `json:"bytes,omitempty"`
	TransferMillis int64 `json:"transferMillis,omitempty"`
}

// Limits of an AskDialRecord.
const (
	MostPeers    = 256
	MostTransfer = 64 << 20
)

// PeerRecord is a worker that listens.
type PeerRecord struct {
	Worker  string `json:"worker"`
	Address string `json:"address"` // IP:PORT
}

// PairRecord is what a worker found out about its network to a peer.
type PairRecord struct {
	Worker string `json:"worker"` // the peer
	// Error says why the peer cannot be reached, in at most 100 bytes; "" if it can.
	Error string `json:"error,omitempty"`
	// RoundTripMicros is the shortest of some round trips, in microseconds.
	RoundTripMicros int64 `json:"roundTripMicros,omitempty"`
	// Bytes were sent and confirmed in Micros microseconds.
	Bytes  int64 `json:"bytes,omitempty"`
	Micros int64 `json:"micros,omitempty"`
}
