package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestWarnings(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	event := func(pod, reason, message string, at time.Time) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod}, Type: "Warning", Reason: reason, Message: message, LastTimestamp: metav1.NewTime(at), Count: 3}
	}
	series := event("web-b", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", time.Time{})
	series.Series = &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(noon.Add(time.Minute))}
	refused := errors.New("no such pod\npassword=hunter2\x1b[2J")
	var asked []string
	client := fake.NewClientset()
	client.PrependReactor("list", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		selector := a.(clienttesting.ListAction).GetListRestrictions().Fields.String()
		asked = append(asked, selector)
		switch {
		case strings.Contains(selector, "web-a"):
			return true, &corev1.EventList{Items: []corev1.Event{event("web-a", "Failed", "pull https://me:secret@host/x\x1b[2J", noon)}}, nil
		case strings.Contains(selector, "web-b"):
			return true, &corev1.EventList{Items: []corev1.Event{event("web-b", "BackOff", "again", noon.Add(-time.Hour)), series}}, nil
		}
		return true, nil, refused
	})
	list, err := Warnings(context.Background(), client, "shop", []string{"web-a", "web-b"})
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %+v", err, list)
	}
	if first := list[0]; first.Reason != "Unhealthy" || first.Count != 7 || !first.At.Equal(noon.Add(time.Minute)) || first.Object != "Pod web-b" {
		t.Errorf("the newest is %+v", first)
	}
	if second := list[1].Message; strings.Contains(second, "secret") || strings.Contains(second, "\x1b") {
		t.Errorf("it says %q", second)
	}
	for _, selector := range asked {
		if !strings.Contains(selector, "type=Warning") || !strings.Contains(selector, "involvedObject.kind=Pod") {
			t.Errorf("asked for %s", selector)
		}
	}
	if _, err := Warnings(context.Background(), client, "shop", []string{"web-c"}); !errors.Is(err, refused) || !strings.Contains(err.Error(), "web-c: no such pod password=…") || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("a failure says %v", err)
	}
}

// The newest are told once each, and no more of them than that. An event of the newer kind
// has its time elsewhere.
func TestWarningsAreBounded(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var events []corev1.Event
	for i, reason := range []string{"F", "E", "D", "C", "B", "A", "A"} {
		events = append(events, corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "web-a"}, Reason: reason, EventTime: metav1.NewMicroTime(noon.Add(time.Duration(i/5) * time.Minute))})
	}
	client := fake.NewClientset()
	client.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.EventList{Items: events}, nil
	})
	list, err := Warnings(t.Context(), client, "shop", []string{"web-a"})
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, w := range list {
		told += w.Reason
	}
	events = []corev1.Event{{InvolvedObject: corev1.ObjectReference{Name: "b"}, Reason: "A"}, {InvolvedObject: corev1.ObjectReference{Name: "a"}, Reason: "B"}, {InvolvedObject: corev1.ObjectReference{Name: "c"}, Reason: "A", Message: "m"}}
	if list, err := Warnings(t.Context(), client, "shop", []string{"web-a"}); err != nil || len(list) != 3 || list[0].Object != " a" || list[1].Object != " b" {
		t.Errorf("of one instant, by object: %+v, %v", list, err)
	}
	if told != "ABCDE" || len(list) != MaxWarnings || !list[0].At.Equal(noon.Add(time.Minute)) || list[0].Count != 1 {
		t.Errorf("told are %s, the first is %+v", told, list[0])
	}
}

// The API server lists events by their names: the newest may be on the last page. Of one pod no
// more pages are read than that.
func TestWarningsOfManyPages(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for pages, want := range map[int]int{1: 1, 3: 3, pagesOfPod + 1: pagesOfPod} {
		var asked []string
		client := fake.NewClientset()
		client.PrependReactor("list", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			asked = append(asked, a.(clienttesting.ListActionImpl).ListOptions.Continue)
			n := len(asked)
			list := &corev1.EventList{Items: []corev1.Event{{Reason: fmt.Sprint("page ", n), LastTimestamp: metav1.NewTime(noon.Add(time.Duration(n) * time.Minute))}}}
			if n < pages {
				list.Continue = fmt.Sprint("after ", n)
			}
			return true, list, nil
		})
		list, err := Warnings(t.Context(), client, "shop", []string{"web-a"})
		if err != nil || len(asked) != want || list[0].Reason != fmt.Sprint("page ", want) {
			t.Errorf("of %d pages %d are read, and the newest is %+v, %v", pages, len(asked), list[0], err)
		}
		if last := asked[len(asked)-1]; want > 1 && last != fmt.Sprint("after ", want-1) {
			t.Errorf("the last of %d pages is asked for as what follows %q", pages, last)
		}
	}
}
