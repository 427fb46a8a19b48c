// Command examples runs the folders of examples on the cluster of test/lab/cluster. It creates
// their objects, runs the commands in their READMEs, and checks that the job prints what the README
// says.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run examples                    all rows
//	test/lab/run examples -rows jax,join
//	test/lab/run examples -list
//
// The cluster reaches no registry and no package index, so a row has stand-ins (standins.go). The
// image of images/frameworks stands in for public images. The packages of test/lab/frameworks, mounted
// from the nodes, stand in for packages that an image has or an init container installs. Programs, commands and
// everything else in the objects come from the folder. A claim gets a volume that all nodes share.
//
// In two rows a pod is evicted: the ranks of pytorch-ddp and pytorch-fsdp must save, and continue from
// that checkpoint. torchrun-elastic gets one more worker. Gangs are rows of
// test/lab/gang, which runs their schedulers.
//
// The cluster has no GPUs. The tests of the package example compare the GPU variants with the jobs
// that run here, and check both with the API server's own code.
package main
