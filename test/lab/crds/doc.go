// Command crds walks the schemas of the kinds that agent/kubeflow converts, and
// counts the fields that a conversion neither carries nor names. There must be none.
//
//	test/lab/run crds              record figures in SUITE.json, print faults to stderr
//	test/lab/run crds -list        print every field with what the conversion does with it
//
// The CRDs come from the projects' own modules, which go.mod files pin:
// training-operator v1.8.1 (test/lab/kubeflow) and v1.9.3 (test/lab/kubeflow/jax), mpi-operator
// v0.6.0 and Trainer v2.0.0 (pinned), Volcano v1.10.0 (test/lab/gang/volcano). No current API server
// loads the CRDs of MPIJob v1alpha1 and v1alpha2, so old.yaml describes these kinds.
//
// Each field is walked by itself: the smallest object that its kind allows, plus
// that field with a value of its type, is converted. The field is carried if the
// result differs from the result without the field. If the value is the marker text, the result must
// also contain it. The field is named if the conversion has a finding about its path, or about a path above or
// below it, that it does not have without the field. A field with an enum or with a known
// meaning (walk.go) gets a value that is not the default.
//
// The projects' own examples are converted, too.
//
// The second figure is the number of manifests in agent/kubeflow/testdata that do not convert. The
// third is the lines of code for each kind.
package main
