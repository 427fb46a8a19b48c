package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the name of the one kind.
const Kind = "LaunchJob"

// Version is the group and the version of this package.
func Version() schema.GroupVersion {
	return schema.GroupVersion{Group: "muster.dev", Version: "v1alpha1"}
}

// AddToScheme registers the types with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(Version(), &LaunchJob{}, &LaunchJobList{})
	metav1.AddToGroupVersion(s, Version())
	return nil
}
