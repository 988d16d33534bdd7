package prose_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
)

func TestCounts(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12113: "12,113", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := prose.Thousands(n); got != want {
			t.Errorf("Thousands(%d) is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 causes", 1: "1 cause", 2: "2 causes", 1200: "1,200 causes"} {
		if got := prose.Count(n, "cause"); got != want {
			t.Errorf("Count(%d) is %q, want %q", n, got, want)
		}
	}
	if got := prose.Plural(uint64(1), "is", "are") + prose.Plural(0, "is", "are") + prose.Plural(-1, "is", "are"); got != "isareare" {
		t.Errorf("Plural chooses %s", got)
	}
}

func TestLists(t *testing.T) {
	for _, tt := range []struct{ list, and, or, two string }{
		{"", "", "", ""},
		{"a", "a", "a", "a"},
		{"a b", "a and b", "a or b", "a, b"},
		{"a b c", "a, b and c", "a, b or c", "a, b and 1 more"},
		{"a b c d", "a, b, c and d", "a, b, c or d", "a, b and 2 more"},
	} {
		list := strings.Fields(tt.list)
		if and, or, two := prose.And(list), prose.Or(list), prose.Some(list, 2); and != tt.and || or != tt.or || two != tt.two {
			t.Errorf("%q becomes %q, %q and %q", list, and, or, two)
		}
	}
}

func TestLetters(t *testing.T) {
	for _, tt := range []struct{ s, upper, lower string }{{"", "", ""}, {"pods", "Pods", "pods"}, {"Pods", "Pods", "pods"}, {"ärger", "Ärger", "ärger"}, {"\xff", "\xff", "\xff"}, {"5 pods", "5 pods", "5 pods"}} {
		if upper, lower := prose.Upper(tt.s), prose.Lower(tt.s); upper != tt.upper || lower != tt.lower {
			t.Errorf("%q becomes %q and %q", tt.s, upper, lower)
		}
	}
	if got := prose.OrNone("") + prose.OrNone("a"); got != "nonea" {
		t.Errorf("OrNone says %s", got)
	}
}

func TestParts(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"web", "", 0}, {"web", "web", 3}, {"web-1", "web-2", 4}, {"a", "b", 0}} {
		if got := prose.CommonPrefix(tt.a, tt.b); got != tt.want || prose.CommonPrefix(tt.b, tt.a) != got {
			t.Errorf("%q and %q both begin with %d bytes", tt.a, tt.b, got)
		}
	}
	for message, want := range map[string]string{"": "", "refused": "refused", ": refused": "refused", "get pods: dial tcp: refused": "refused", "127.0.0.1:80": "127.0.0.1:80"} {
		if got := prose.LastClause(message); got != want {
			t.Errorf("the last clause of %q is %q", message, got)
		}
	}
}

func TestSpan(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{math.MinInt64, "0s"}, {-time.Second, "0s"}, {0, "0s"},
		{1, "0.1s"}, {99 * time.Millisecond, "0.1s"}, {449 * time.Millisecond, "0.4s"}, {time.Second - 1, "0.9s"},
		{time.Second, "1s"}, {12*time.Second + 900*time.Millisecond, "12s"}, {time.Minute - 1, "59s"},
		{time.Minute, "1m"}, {time.Minute + 999*time.Millisecond, "1m"}, {288 * time.Second, "4m 48s"}, {time.Hour - 1, "59m 59s"},
		{time.Hour, "1h"}, {time.Hour + 59*time.Second, "1h"}, {130 * time.Minute, "2h 10m"}, {day - 1, "23h 59m"},
		{day, "1d"}, {day + 59*time.Minute, "1d"}, {6*day + 3*time.Hour, "6d 3h"}, {100*day - 1, "99d 23h"},
		{100*day + 5*time.Hour, "100d"}, {math.MaxInt64, "106751d"},
	} {
		if got := prose.Span(tt.d); got != tt.want {
			t.Errorf("Span(%d) = %q, want %q", tt.d, got, tt.want)
		}
	}
}
