package page

import (
	"slices"

	"github.com/loopscope/loopscope/views"
)

// The keys of each page. The script knows what they do; a page lists those that
// can work on it.
var (
	CommonKeys = []views.Key{{Keys: "t", Does: "theme"}, {Keys: "g d", Does: "Deployments"}, {Keys: "g q", Does: "Queues"}, {Keys: "g a", Does: "Decisions"}, {Keys: "g h", Does: "History"}, {Keys: "g s", Does: "Shadow"}}

	OverviewKeys = append([]views.Key{{Keys: "j k", Does: "rows"}, {Keys: "o", Does: "open"}, {Keys: "/", Does: "filter"},
		{Keys: "1–5", Does: "outcomes"}, {Keys: "p", Does: "pause"}, {Keys: "n", Does: "next page"}, {Keys: "c", Does: "copy link"}}, CommonKeys...)
	ObjectKeys = append([]views.Key{{Keys: "h l", Does: "previous, next sync"}, {Keys: "j k", Does: "questions"}, {Keys: "e", Does: "explain the question"}, {Keys: "o", Does: "open the sync"},
		{Keys: "c", Does: "copy link"}, {Keys: "p", Does: "pause"}, {Keys: "u", Does: "up"}, {Keys: "Home", Does: "oldest sync"}, {Keys: "End", Does: "newest sync"}}, CommonKeys...)
	PlannedKeys   = append(slices.Clone(ObjectKeys[:6:6]), append([]views.Key{{Keys: "w", Does: "what if"}}, ObjectKeys[6:]...)...)
	AboutKeys     = append([]views.Key{{Keys: "u", Does: "up"}, {Keys: "j k", Does: "rows"}, {Keys: "o", Does: "open"}, {Keys: "c", Does: "copy link"}}, CommonKeys...)
	WhatIfKeys    = append([]views.Key{{Keys: "↵", Does: "plan"}, {Keys: "u", Does: "up to the object"}, {Keys: "c", Does: "copy link"}}, CommonKeys...)
	SyncKeys      = append([]views.Key{{Keys: "u", Does: "up to the object"}}, CommonKeys...)
	DecisionsKeys = append([]views.Key{{Keys: "j k", Does: "questions"}, {Keys: "c", Does: "copy link"}}, CommonKeys...)
	HistoryKeys   = append([]views.Key{{Keys: "j k", Does: "rows"}, {Keys: "o", Does: "open"}, {Keys: "/", Does: "filter"}, {Keys: "n", Does: "next page"}, {Keys: "c", Does: "copy link"}}, CommonKeys...)
	QueuesKeys    = append([]views.Key{{Keys: "j k", Does: "rows"}, {Keys: "o", Does: "open"}, {Keys: "p", Does: "pause"}, {Keys: "c", Does: "copy link"}}, CommonKeys...)
)
