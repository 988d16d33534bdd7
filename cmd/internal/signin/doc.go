// Package signin lets in to a console on this machine whoever was given its token: loopback alone
// is no proof, as every program and every page in a browser of this machine reaches it.
//
// A token opens an address once, in a browser: it is exchanged for a cookie and taken out of the
// address. Programs send it as a bearer token.
package signin
