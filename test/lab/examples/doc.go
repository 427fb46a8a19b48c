// Command examples runs the folders of examples on the cluster of test/lab/cluster: it creates
// their objects, types what their READMEs tell people to type, and looks for what these say the
// job prints.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run examples                    all rows
//	test/lab/run examples -rows jax,join
//	test/lab/run examples -list
//
// The cluster reaches no registry and no package index, so a row has stand-ins (standins.go): the
// image of images/frameworks for public ones, and the packages of test/lab/frameworks, mounted from
// the nodes, for those that an image has or an init container installs. Programs, commands and the
// rest of the objects are those of the folder. A claim gets a volume that all nodes share.
//
// Two rows are interrupted: the ranks of pytorch-ddp and pytorch-fsdp have to save when a pod is
// evicted, and to continue from there. torchrun-elastic gets one worker more. Gangs are rows of
// test/lab/gang, which runs their schedulers.
//
// Nothing here has GPUs. The tests of the package example compare the GPU variants with the jobs
// that run here, and check both with the API server's own code.
package main
