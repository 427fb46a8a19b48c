// Package pdsh runs one command on many workers at once through the launcher's broker, as pdsh(1)
// does over ssh. DeepSpeed's launcher and users call it.
//
// It takes pdsh's arguments (Parse) and the path of the broker's socket (Run). In the command %h is
// the host, %u the user, %n the number of the host from 0 in the given order after exclusions, and
// %% a percent sign. Any other percent sign stays. It promises:
//
//   - Every line of output is written complete, after "HOST: ". HOST is without its domain,
//     unless domains differ; an address is complete.
//   - At most -f commands run at a time.
//   - No standard input is passed on.
//   - As with pdsh, the exit code is 0, or with -S the largest one of the commands.
//   - It handles no signal. Whatever ends it ends every command, because the broker
//     notices its end.
//
// Options, expansions, exit codes and labels were copied from the behavior of pdsh 2.34 in Debian
// 12, with these differences. Output that ends without a newline gets one if it has a label,
// because two hosts would otherwise share a line. A line of more than 1 MiB is written in pieces.
// Ctrl-C ends at once (as with -b). -t has no effect, because the links to workers exist already.
// -a means all workers of the launcher.
//
// It does not read commands from standard input, take hosts from genders or by patterns (/regex/),
// or use another transport than the broker. It reports such requests as errors.
package pdsh
