// Package rsh is the remote shell agent that mpirun calls in place of ssh: it
// reads an ssh-style command line, hands its own descriptors to the launcher's
// broker over a unix socket, and waits for the exit code.
//
// It takes the words that ssh would take (Parse) and the path of the broker's
// socket (Call; Begin for those who have many calls under way, as exec/rsh/pdsh
// has). It promises: everything behind the host is joined with single blanks, as
// ssh does, and nothing is interpreted; the exit code is the remote
// one, or 255 with a sentence; 0 only when the broker said 0. The stub holds no
// state and copies no byte of output: it may be killed at any moment, and the
// broker sees that on the socket and stops the session. So it handles no
// signal: dying by it is the message. If the launcher does not read the request within a
// minute, the stub ends with 255; after that it waits as long as the command runs.
//
// It will not open terminals, forward ports, or go into the background; it says so
// and answers 255, which is what ssh exits with when it fails itself. Without a
// command it is a shell on standard input (Shell); of subsystems it knows sftp.
//
// mpirun starts one stub per worker, all at once: a stub must start within 2.5
// ms and stay under 3 MB, therefore raw system calls on one blocking thread, a
// codec of a few lines, and no JSON.
//
// # Messages
//
// One request, one reply, each a 4-byte big-endian length and that many bytes.
// A request is: version (1), kind ('R' run, 'H' hosts, 'S' stacks), flags (bit
// 0: no stdin), then host, user and command, each a uvarint length and its bytes.
// With 'R' the first bytes carry stdin (unless bit 0), stdout and stderr as
// SCM_RIGHTS. A reply is: version, exit code as uvarint, then a uvarint count
// of lines and the lines: the sentence for stderr ('R'), the hosts ('H'), or
// where ranks stand ('S').
package rsh
