// Package installed reaches a console that runs in the cluster as the user: it finds its Service,
// reaches a port of one of its pods through the API server, and serves it on this machine with
// the credentials of the kubeconfig.
//
// Whoever may create pods in the namespace of the console can pose as it, and is sent the user's
// bearer token. So the console is looked for in one namespace that the user names, or the usual one.
package installed
