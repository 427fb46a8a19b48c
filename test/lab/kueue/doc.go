// Command kueue runs LaunchJobs under Kueue, on control planes without real nodes (test/lab/plane). It needs no root
// and no cluster.
//
//	test/lab/run kueue             all rows
//	test/lab/run kueue -rows admit,multikueue
//	test/lab/run kueue -list
//
// # Planes
//
// Each plane has Kubernetes, Kueue, and Muster's controller with the rights that images/deploy gives it. Kueue's
// webhooks serve only its own kinds, and LaunchJobs are an external framework (manager). The plane main has eight
// nodes of four GPUs, in two blocks of two racks. Its Kueue is also the manager of MultiKueue, and the planes east
// and west are its workers, which start with the first row that needs them. No container runs: kwok makes pods Running
// and Ready, and ends the launcher after the time in its annotation.
//
// # Rows
//
// Each row (main.go) has a namespace and a ClusterQueue of its own, and defines what must be observed. Everything that
// happened to pods is saved in raw/kueue-ROW.json in $MUSTER_OUT, and the programs' output in raw/kueue-PLANE-PROGRAM.log.
// Figures go into SUITE.json. If a row fails, the command fails.
package main
