// Package soak holds the tests that take minutes to an hour: one session for an
// hour over connections that vanish while it is idle and tokens that change,
// and output whose reader stands still for longer than any server waits.
//
// They run the product's own binaries: `agent worker`, `agent attach` and
// `agent run` with a kubeconfig, against test/fakekube behind TLS, a token check
// and a TCP proxy (road) that can lose connections without a FIN or a reset. What
// is compared is what went in and what came out, by SHA-256.
//
//	go -C test/lab test -tags soak -count=1 -timeout 90m ./soak -run TestSoak             make soak
//	go -C test/lab test -tags soak -count=1 -timeout 20m ./soak -run TestStall            make stall
//	go -C test/lab test -tags soak -count=1 ./soak -run TestSoak -spell 20s -spells 3     a rehearsal
//
// Root is needed for TestStall, which mounts (in a mount namespace of its own)
// spool directories that are small or read-only.
//
// $MUSTER_BIN is the directory of agent and agent-launcher; without it they are
// built. Figures are recorded where $MUSTER_OUT is set.
package soak
