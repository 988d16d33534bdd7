// Package wire makes bytes of traces and of the snapshots in them, and reads them
// back. One walk over the fields does both. It is for what the program itself
// keeps; what leaves it is JSON.
package wire
