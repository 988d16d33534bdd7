// Package web is the console: pages, their JSON twins, the live stream, metrics,
// health and debug endpoints. It may not decide anything, write to a cluster, or
// make a sync wait. It reads the journal and the states that it is given, and
// answers GET and HEAD alone.
//
// Every route stands in routes.go. A page is a builder (overview.go,
// deployment.go, ...) that turns traces into the view model of one templ
// component; the builders are the only code that knows both. The same builder
// serves the page, its JSON twin and the live stream (live.go). Whatever costs more
// than a look-up is made in a slot (slots.go), so that syncs come first.
package web
