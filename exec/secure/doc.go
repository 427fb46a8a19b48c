// Package secure proves who is at both ends of a connection between a launcher and a worker, and
// seals the bytes on it. It is for connections over a network that others share.
//
//	Launcher.Prove  ->  claim, signed     ->  Guard.Admit
//	                <-  answer            <-
//	                ->  an empty record   ->
//	Conn            <-  sealed records    ->  Conn
//
// A job has a pair of keys (keys.go). Both hold the job's secret, without which a peer gets no
// answer. Only the launcher's key can sign. So the ranks of a worker, which can read the worker's
// key, cannot act as a launcher.
//
// The handshake is Noise_IXpsk0_25519_AESGCM_SHA256 of github.com/flynn/noise. Each process makes
// its X25519 key in memory and never writes it. The launcher signs a claim (claim.go): its job, its
// epoch, the worker that it dials, and its X25519 key. A worker compares the claim with what it
// knows of itself before it answers. Crypto/tls would add 2 MB to the small binary, this adds 0.4.
//
// It promises that no byte of a record is delivered before the record has been authenticated. No
// record can be inserted, dropped, repeated or reordered. Admit returns no connection before the
// launcher has proved that it holds the X25519 key of its claim, so a message that was recorded
// earlier proves nothing. The end of a connection is not authenticated: the protocol above
// must know by itself whether it has everything.
//
// A Conn has no goroutine. The package opens and accepts no connections, sets no deadlines and
// closes nothing.
package secure
