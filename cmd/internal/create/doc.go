// Package create sends the objects of files to an API server, as `kubectl create` and
// `kubectl apply --server-side` do, and foresees what the loops will do with them.
//
// It stands on what kubectl itself is made of: resource.Builder reads files, directories,
// addresses and standard input, PrintFlags prints, and the messages of errors are kubectl's.
// kubectl's whole command is not embedded: it ends the process where it fails, and nobody
// else learns what it is about to write and what it wrote, which --explain and --watch are about.
//
// Foresee reads and asks for dry runs, and writes nothing.
package create
