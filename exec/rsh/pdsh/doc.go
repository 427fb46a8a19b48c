// Package pdsh runs one command on many workers at once, as pdsh(1) does over
// ssh, through the launcher's broker: DeepSpeed's launcher calls it, and people.
//
// It takes pdsh's words (Parse) and the path of the broker's socket (Run). In the
// command %h is the host, %u the user, %n the host's number from 0 in the order in
// which hosts were given, after exclusions, and %% a percent sign; any other
// percent sign stays. It promises: every line of output is written whole, behind
// "HOST: " (without the domain, unless domains differ; an address stays whole); at
// most -f commands run at a time; no standard input is passed on; the exit code is
// 0, with -S the largest of the commands' codes, as pdsh's own is. It handles no
// signal: whatever ends it ends every command, as the broker sees it go.
//
// The options, expansions, codes and labels are those that pdsh 2.34 of Debian 12
// was seen to have. Other than there, an output that ends without a newline gets
// one when it has a label, or two hosts would share a line; a line of more than 1
// MiB is written in pieces; Ctrl-C ends at once (as with -b); -t counts for
// nothing, for links to workers stand already; -a is all of the launcher's workers.
//
// It will not read commands from standard input, take hosts from genders or by
// patterns (/regex/), or use another way than the broker: it says so.
package pdsh
