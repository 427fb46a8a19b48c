// Package soak has the tests that take minutes to an hour. One session lasts an
// hour, over connections that vanish while it is idle and tokens that change.
// Another has output whose reader pauses for longer than any server waits.
//
// They run the product's own binaries: `agent worker`, `agent attach` and
// `agent run` with a kubeconfig. The API server is test/fakekube behind TLS, a token
// check and a TCP proxy (road) that can drop connections without a FIN or a reset. They
// compare the sent and the received bytes by SHA-256.
//
//	go -C test/lab test -tags soak -count=1 -timeout 90m ./soak -run TestSoak             make soak
//	go -C test/lab test -tags soak -count=1 -timeout 20m ./soak -run TestStall            make stall
//	go -C test/lab test -tags soak -count=1 ./soak -run TestSoak -spell 20s -spells 3     a short run
//
// TestStall needs root, because it mounts (in a mount namespace of its own)
// spool directories that are small or read-only.
//
// $MUSTER_BIN is the directory of agent and agent-launcher. If it is not set, they are
// built. Figures are recorded if $MUSTER_OUT is set.
package soak
