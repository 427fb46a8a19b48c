// Command fault proves that nothing is lost: it runs sessions through an API
// server made of Kubernetes' own parts, and breaks the way in every manner, at
// every place, at every moment.
package main
