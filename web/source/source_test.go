package source

import (
	"reflect"
	"slices"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/sight"
)

// filtered are the options that tell of objects: New lets through what the viewer may see. ofProcess
// tell of this process alone, or of what is the same for everybody.
var (
	filtered  = []string{"Journal", "Archive", "Loops", "Queue", "Shadow", "Due", "Rival", "Warnings", "Others"}
	ofProcess = []string{"Rules", "ReleaseRules", "Features", "Server", "Elsewhere", "untold", "Checks", "Healthy", "Blind", "Start", "Component", "Controllers", "Gatherer", "Readers", "Cluster", "Version", "Namespace", "Mode", "Stall",
		"Leadership", "Started", "Memory", "Hosts", "Logger", "Now", "Tally", "Recording", "Viewer", "Unguarded", "Profiling", "MaxReaders", "WriteTimeout", "SilentAfter"}
)

// TestEveryOptionIsFilteredOrOfTheProcess: whoever adds an option has to say here which of the two it is.
func TestEveryOptionIsFilteredOrOfTheProcess(t *testing.T) {
	all := slices.Concat(filtered, ofProcess)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		if n := len(all); n == len(slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == field.Name })) {
			t.Errorf("Options.%s: does it tell of objects? Then New has to leave out what a viewer may not see", field.Name)
		}
	}
	j := telemetry.NewJournal(telemetry.JournalOptions{})
	o := Options{Journal: j, Shadow: func() telemetry.ShadowState { return telemetry.ShadowState{} }}
	was, s := reflect.ValueOf(o.WithDefaults()), New(o, sight.NewScope(sight.Nobody, nil))
	is := reflect.ValueOf(s.Opts)
	for _, name := range filtered {
		if a, b := was.FieldByName(name), is.FieldByName(name); a.Kind() != reflect.Interface && !a.IsNil() && a.Pointer() == b.Pointer() {
			t.Errorf("Options.%s is as it was", name)
		}
	}
	if s.Opts.Journal != nil || reflect.TypeOf(s.Opts.Archive) == reflect.TypeOf(j.Archive()) {
		t.Error("there is a way to the whole record")
	}
}
