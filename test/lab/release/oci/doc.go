// Package oci makes container images and Helm charts out of files, and copies them to registries.
//
// The same files give the same digests: an image holds no time but its commit's, and nothing of the
// machine that made it.
package oci
