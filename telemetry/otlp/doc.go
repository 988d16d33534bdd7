// Package otlp sends every sync to an OpenTelemetry collector as a span, with
// its causes as links, its questions as events and its writes as child spans. It
// may not make a sync wait, decide what a trace holds, or set anything
// process-wide: it is a reader of the journal like any other, and what it could
// not send is counted.
//
// It is off unless the environment names an endpoint. What can be set is set by
// the variables of the OpenTelemetry specification, which the SDK and the
// exporters read; here they are only checked, as the libraries go on with a
// default where a value is wrong, log it with the secret in it, or panic
// (contrib's autoexport included).
//
// The ids of a sync's trace and span are made of its epoch and number. So a
// cause that names the sync which wrote it becomes a link to that sync's span
// without anything being remembered.
//
// A sync records when it started and ended, how long each phase and each request
// took, and nothing else of time. Questions are therefore placed at the end of
// observing, requests one after another from the beginning of acting.
package otlp
