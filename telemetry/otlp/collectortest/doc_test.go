// Package collectortest sends syncs to the OpenTelemetry Collector's own
// receiver, over both protocols, and compares what arrives with what was
// recorded. It is a module of its own, as the Collector's libraries are no part
// of the program.
package collectortest
