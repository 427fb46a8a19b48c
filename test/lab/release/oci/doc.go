// Package oci makes container images and Helm charts from files, and copies them to registries.
//
// The same files yield the same digests: an image has no time except that of its commit, and no data of the
// machine that built it.
package oci
