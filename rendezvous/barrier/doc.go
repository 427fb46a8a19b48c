// Package barrier is where the members of a job without a launcher meet. Rank 0 serves it over TCP,
// and every member, including rank 0, connects to it and stays connected.
//
//	Member.Run  ->  proof  ->  card  ->  Coordinator: a seat for each rank
//	            <-  orders, work     <-  Tell, Hand
//	            ->  news             ->  Seats, Changed
//
// A connection begins with a proof that both sides hold the token of the job. Each side sends a
// nonce and the keyed hash (HMAC-SHA256) of both nonces; the token is never sent. All further
// frames are sealed: each carries the hash of itself and its number, under a key of this connection
// and direction. So no frame can be inserted, dropped or replayed. Frames are not encrypted. Names
// and addresses of the members can be read on the way; no secret is sent.
//
// Both sides always send their complete state instead of changes. A connection may therefore break
// at any point and be made again without losing or repeating anything. A side that receives nothing
// for [Quiet] closes the connection. The caller decides what an absence means.
//
// It promises that a stranger changes nothing. Before the proof it holds at most [Unproved]
// connections in addition to one for each rank, each for a moment and with a few hundred bytes. If
// there are more, it closes the oldest. The size of a frame is limited by its kind, and a seat
// keeps only the newest news. If two members have the same rank, it pings the first. If the first
// does not answer, the second is its replacement. If the first is leaving, the second waits.
// Otherwise the second is refused, with a message that names both.
//
// It runs no process, knows no framework, and decides nothing about a job. The meaning of orders
// and work is up to the caller. It imports neither rendezvous nor client-go, because it is part of
// the small binary.
package barrier
