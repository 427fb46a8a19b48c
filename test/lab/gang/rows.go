//go:build linux

package main

import "context"

// row is what happens in a namespace, and what has to be seen.
type row struct {
	key    string // on the command line
	what   string
	gpus   int           // of node1
	module func() module // of the scheduler that runs meanwhile; nil: the cluster's own alone
	conf   string        // its configuration, of testdata
	play   func(ctx context.Context, w *world) error
	judge  func(w *world, samples []sample) error // nil: play has seen all
}

func rows() []row {
	return []row{
		{key: "absent", what: "backends whose kind the cluster does not serve", play: absent},
		{key: "none", what: "two jobs of 4 GPUs on 4 GPUs, no gang", gpus: 4, play: deadlock},
		{key: "volcano", what: "the same under Volcano", gpus: 4, module: volcano, conf: "volcano.yaml",
			play: pair("volcano"), judge: oneAfterTheOther},
		{key: "coscheduling", what: "the same under coscheduling", gpus: 4, module: coscheduling, conf: "coscheduling.yaml",
			play: pair("coscheduling"), judge: oneAfterTheOther},
		{key: "kueue", what: "the same under Kueue", gpus: 4, module: kueue, conf: "kueue.yaml", play: pair("kueue"), judge: oneAfterTheOther},
		{key: "topology", what: "ps and worker, with Volcano's task topology and without", module: volcano, conf: "volcano-topology.yaml", play: topology},
		{key: "removed", what: "a backend that is taken away, and comes back", play: removed},
	}
}
