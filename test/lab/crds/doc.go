// Command crds walks the schemas of the kinds that agent/kubeflow converts, and
// counts the fields that a conversion neither carries nor names: there is to be none.
//
//	test/lab/run crds              figures into SUITE.json, faults on stderr
//	test/lab/run crds -list        every field with what became of it
//
// The CRDs are those of the projects' own modules, which go.mod files pin:
// training-operator v1.8.1 (test/lab/kubeflow) and v1.9.3 (test/lab/kubeflow/jax), mpi-operator
// v0.6.0 and Trainer v2.0.0 (pinned), Volcano v1.10.0 (test/lab/gang/volcano). MPIJob v1alpha1
// and v1alpha2, whose CRDs load nowhere any more, are written down in old.yaml.
//
// A field is walked by itself: an object that has the least that its kind needs, and
// that field with a value of its type, is converted. The field is carried if what
// comes out differs from what comes out without it, and holds its value where the value
// is a text that stands nowhere else; it is named if a finding that is not there without
// the field has its path, or one above it or below it. Whatever has an enum or a
// meaning (walk.go) is walked with a value that is another than the default.
//
// The projects' own examples are converted too.
//
// The second figure is whether every manifest of agent/kubeflow/testdata converts, the
// third how much code a kind takes.
package main
