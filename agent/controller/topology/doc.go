// Package topology copies topology labels of nodes to the pods of workers, so that no launcher needs
// the right to read nodes.
//
// It reads only the metadata of nodes, one at a time, and only for jobs whose ranks follow the
// topology. It writes one annotation, names.AnnotationTopology, once for each pod. A job runs without
// it too, so no error here stops a job.
package topology
