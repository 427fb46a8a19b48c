// Package rsh is the remote shell agent that mpirun calls in place of ssh. It reads an ssh-style
// command line, passes its own descriptors to the launcher's broker over a unix socket, and waits
// for the exit code.
//
// It takes the arguments that ssh would take (Parse), and the path of the broker's socket (Call; or
// Begin for a caller with many concurrent calls, like exec/rsh/pdsh). It promises:
//
//   - Everything after the host is joined with single blanks, as in ssh, and nothing is
//     interpreted.
//   - The exit code is the remote one, or 255 with a sentence. It is 0 only if the broker
//     said 0.
//   - The stub has no state and copies no output. It may be killed at any moment; the
//     broker notices that on the socket and stops the session. So it handles no signal.
//   - If the launcher does not read the request within a minute, the stub exits with 255.
//     After that it waits as long as the command runs.
//
// It does not open terminals, forward ports, or go into the background. It reports that and exits
// with 255, like ssh when it fails itself. Without a command it is a shell on standard input
// (Shell). Its only subsystem is sftp.
//
// mpirun starts one stub per worker, all at once. So a stub must start within 2.5 ms and stay under
// 3 MB. Therefore it uses raw system calls on one blocking thread, a codec of a few lines, and no
// JSON.
//
// # Messages
//
// One request, one reply, each a 4-byte big-endian length and that many bytes. A request is:
// version (1), kind, flags (bit 0: no stdin), then host, user and command, each a uvarint length and
// its bytes. The kinds are 'R' run, 'H' hosts, 'S' stacks, 'D' doctor, 'T' top. With 'R' the first
// bytes carry stdin (unless bit 0), stdout and stderr as SCM_RIGHTS.
//
// A reply is: version, exit code as uvarint, then a uvarint count of lines and the lines. These are
// the sentence for stderr ('R'), the hosts, where ranks are, findings, or what workers use.
package rsh
