//go:build linux

package main

// shimRows are programs that reach other machines by ssh. The image has them.
func shimRows() (all []row) {
	for _, r := range []row{
		{key: "shims/rsync", framework: "rsync", want: []want{whole(2)}},
		{key: "shims/git", framework: "git", want: []want{whole(2)}},
		{key: "shims/pdsh", framework: "pdsh 2.34", want: []want{whole(1)}},
	} {
		r.way = "over ssh, the link cut in mid-transfer"
		r.flags = []string{"--shims", "--report={shared}/" + reportName}
		r.argv = []string{"python3", "{scripts}/shims.py", r.key[len("shims/"):]}
		r.during = cutting
		r.notFake = "test/fake has it"
		all = append(all, r)
	}
	return all
}
