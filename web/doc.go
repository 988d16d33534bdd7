// Package web is the console: pages, their JSON twins, the live stream, metrics,
// health and debug endpoints. It may not decide anything, write to a cluster, or
// make a sync wait. It reads the journal and the states that it is given, and
// answers GET and HEAD alone, but for a DELETE that begins counts again and a PUT that sets the
// verbosity of the log.
//
// This package is the door. It turns away who may not ask (guard.go), says what is
// where (routes.go), exports, and answers probes. Every page is in a room of its
// own, and no room knows another one beside it. Each imports what stands below it:
//
//	web                          the door: guard, routes, exports, probes, debug
//	live                         the stream, which reaches pages through live.Site
//	list  object  story  whatif  about
//	                             pages: lists and searches, one object, what is over,
//	                             plans, the program and its loops
//	scope  syncs                 parts of pages: the picture over time, one sync in full
//	subject                      what a page is about: an object, its syncs, the cursor
//	page                         how pages are made and served, whatever they show
//	source  slots                what is known now, and who may draw
//	sight                        what of it a viewer may see
//	answer                       what is sent, and problems
//	timeline  plan  filter  flow
//	                             what is worked out, whoever shows it
//	address                      where things have their pages
//	words                        what they are called
//	facts                        what traces say
//
// A page is a builder (page.Builder) that turns traces into the view model of one
// templ component; the builders are the only code that knows both. The same builder
// serves the page, its JSON twin and the live stream. Whatever costs more than a
// look-up is made in a slot (package slots), so that syncs come first.
//
// Where a viewer may not see everything, there is a console for that viewer alone
// (viewers.go): the same rooms over a record that holds nothing else (package sight),
// so that no page has to ask, and no cache is anybody else's.
package web
