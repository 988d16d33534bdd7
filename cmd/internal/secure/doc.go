// Package secure is the port that serves others than this machine: over TLS, and only to whom the
// API server knows and says that they may. Serving, authentication and authorization are those of
// k8s.io/apiserver, with the flags and the defaults of kube-controller-manager but for the port,
// which is off.
//
// What somebody may open is asked by address: a SubjectAccessReview for the method and the path of
// each request. What is seen there is asked by resource and namespace, as a Viewer. Nothing is
// allowed that nobody has allowed, but for the paths of --authorization-always-allow-paths.
package secure
