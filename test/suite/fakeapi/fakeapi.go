// Package fakeapi builds controller-runtime's API servers in memory for unit tests. It reads the schemas of
// Kubernetes' kinds once for each program, because that takes longer than most tests of a controller.
package fakeapi

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoapply "k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// New returns a builder for an API server that knows the kinds of scheme.
func New(scheme *runtime.Scheme) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(converters()...)
}

// converters returns the default type converters of fake.ClientBuilder, which makes them again for each server.
// They keep no state of a server.
var converters = sync.OnceValue(func() []managedfields.TypeConverter {
	kinds := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(kinds); err != nil {
		panic(err) // the kinds of client-go conflict with each other
	}
	return []managedfields.TypeConverter{clientgoapply.NewTypeConverter(kinds), managedfields.NewDeducedTypeConverter()}
})
