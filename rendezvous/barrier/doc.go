// Package barrier is where the members of a job without a launcher meet: rank 0
// serves it over TCP, every member, rank 0 too, comes to it and stays.
//
//	Member.Run  ->  proof  ->  card  ->  Coordinator: a seat for each rank
//	            <-  orders, work     <-  Tell, Hand
//	            ->  news             ->  Seats, Changed
//
// A connection begins with a proof that both sides hold the job's token: each
// sends a nonce and the keyed hash (HMAC-SHA256) of both nonces; the token does
// not travel. What follows is sealed: each frame carries the hash of itself and
// its number, under a key of this connection and direction, so that nothing can
// be put in, left out or said again. It is not encrypted: names and addresses of
// the members can be read on the way, and nothing secret is said.
//
// Both sides always tell their whole state, not what has changed: a connection
// may be cut anywhere and is made again, and nothing is lost or done twice. A
// side that has heard nothing for [Quiet] closes the connection; what an absence
// means is for the caller to decide.
//
// It promises that a stranger changes nothing: before the proof at most
// [Unproved] connections beside one for each rank are held, each for a moment and
// with a few hundred bytes; the oldest goes when there are more. Frames are
// bounded by their kind; a seat keeps the newest news only. Two members with one
// rank are told apart by asking the first for a sign of life: where it gives one
// the second is refused, and both are named; else the second is its replacement.
//
// It runs no process, knows nothing of frameworks, and decides nothing about a
// job: what orders and work mean is for the caller. It imports neither
// rendezvous nor client-go: it is part of the small binary.
package barrier
