// Command fault proves that nothing is lost: it runs sessions over links from
// the product's own launcher side (exec/link over exec/remote) to PID 1s
// (exec/session, and `agent worker` as a process), and breaks the way between
// them on each leg, in every manner, at every moment of a session.
//
//	launcher --client leg--> API server --kubelet leg--> kubelet: bridge --bridge leg--> PID 1
//
// The API server and the kubelet are Kubernetes' own parts (package server);
// each leg is a proxy of ours (package leg). Half of the runs use WebSockets,
// half SPDY, each with an API server that knows no other.
//
// # A run
//
// A new link, one session: a child writes seeded noise to stdout, reads seeded
// noise from stdin, and exits with a seeded code. Two taps, at the launcher's
// and at PID 1's own end, see the frame that makes the moment before its first
// byte goes out, and arm the leg to strike that frame: before it, or after any
// number of its bytes. A run counts when the fault has struck. It is good when
// the exit code is the child's, stdin and stdout are equal by SHA-256, the child
// was started once, the link carries frames again afterwards, and PID 1 keeps no
// record. At the end no process and no goroutine may be left.
//
// HTTP answers (401 to 500, an upgrade not understood) come to the first dial;
// at the later moments the connection is reset, and the redial gets them.
//
// # The table
//
// Leg x fault x moment with the number of runs; an applicable cell with fewer
// than 50 fails. Cells that cannot be are listed with their reason. A stated
// number of runs of each cell has `agent worker` and `agent attach` as
// processes; the others have PID 1's server and the bridge's two copy loops in
// this program. The bulk shortens the link's timers (400 ms, 1.6 s, 4 s);
// detection, resumption, dying and the thousand links use the product's own.
//
// # Other figures
//
// detect: silence noticed, with default and short timers. resume: from a cut to
// the first new byte. mortal: 64 MiB of output, and 16 MiB of input, over
// connections that die after 256 KiB. thousand: all links of a launcher cut at
// once, with the far side in a process of its own.
//
// Flags: -seed repeats a run, -only picks cells, -parts picks figures, -subset
// is the short form for CI. As root it works in a PID namespace of its own.
package main
