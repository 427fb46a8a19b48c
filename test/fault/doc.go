// Command fault proves that no byte is lost. It runs sessions over links from the product's launcher side
// (exec/link over exec/remote) to PID 1s (exec/session, and `agent worker` as a process). It breaks the connection
// between them on each leg, with each fault, at each moment of a session.
//
//	launcher --client leg--> API server --kubelet leg--> kubelet: bridge --bridge leg--> PID 1
//
// The pod network has legs of its own, directly and through a worker that is a relay, which package tree has chosen:
//
//	launcher --launcher-worker leg--> PID 1
//	launcher --launcher-relay leg--> relay --relay-worker leg--> PID 1
//
// The API server and the kubelet are built from Kubernetes' own code (package server). Each leg is a proxy of ours
// (package leg). On the legs of exec, half of the runs use WebSockets and half use SPDY, each with an API server that
// supports only that protocol.
//
// # A run
//
// A run has a new link and one session. A child writes seeded noise to stdout, reads seeded noise from stdin, and
// exits with a seeded code. Two taps, at the launcher's end and at PID 1's end, recognize the frame of the moment
// before its first byte is sent. They arm the leg to strike that frame: before it, or after any number of its
// bytes. A run counts if the fault has struck. It succeeds if the exit code is the child's, stdin and stdout are
// equal by SHA-256, and the child was started once. In addition, the link must carry frames again afterwards, and
// PID 1 must keep no record. At the end no process and no goroutine may be left.
//
// What passes by network is sealed, so the tap at PID 1's end is inside the seal. If PID 1 is a process, it has none
// there: a moment that it decides is then found by counting the bytes of the leg.
//
// HTTP answers (401 to 500, and a refused upgrade) are given to the first dial. At the later moments the connection
// is reset, and the redial gets the answers.
//
// # The table
//
// The table shows the number of runs by leg, fault and moment. An applicable cell with fewer than 50 runs fails.
// Impossible cells are listed with their reason. In some runs of each cell (-real), `agent worker` and `agent
// attach` are processes. In the others, PID 1's server and the bridge's two copy loops run in this program. The
// matrix shortens the link's timers (400 ms, 1.6 s, 4 s). The parts detect, resume, mortal, thousand and gateway use the
// product's defaults, except where detect shortens them.
//
// # Other figures
//
//   - detect: the time until silence is noticed, with default and short timers
//   - resume: the time from a cut to the first new byte
//   - mortal: 64 MiB of output, and 16 MiB of input, over connections that die after 256 KiB
//   - thousand: all links of a launcher are cut at once; the workers are in a process of their own
//   - gateway: nginx is in front of the API server, passes WebSockets, and drops SPDY in seven ways: from the start,
//     or from a cut in mid-run on. Each link may try SPDY once. A link that carries nothing must stay up behind
//     nginx's timeout (package gateway)
//
// The flag -seed repeats a run, -only chooses cells, -parts chooses figures, and -subset is the short form for CI.
// As root, the program runs in its own PID namespace.
package main
