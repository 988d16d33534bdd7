package decision

import "testing"

func TestEventForetells(t *testing.T) {
	for _, c := range []struct {
		predicted, published string
		same                 bool
	}{
		{"Scaled web-1 to 3", "Scaled web-1 to 3", true},
		{"Scaled web-1 to 3", "Scaled web-1 to 4", false},
		{"Scaled web-1 to 3", "Scaled web-1 to 30", false},
		{"Scaled web-1 to 3", "", false},
		{"Failed … at … once", "Failed x and y once", false},
		{"Failed … at … once", "Missed x at y once", false},
		{"Failed … at … once", "Failed x at y twice", false},
		{"Failed … at … once", "Failed x at y once", true},
		{"Created pod: …", "Created pod: web-1-abcde", true},
		{"Created pod: …", "Created pod: ", false},
		{"Created pod: …", "Deleted pod: web-1-abcde", false},
		{"a … b", "a  b", false},
		{"a … b", "a x b", true},
		{"…", "anything", true},
		{"Failed to create web-…: …", "Failed to create web-5d4: no", true},
		{"Failed to create web-…: …", "Failed to create web-: no", false},
		{"Failed to create web-…: …", "Failed to create web-5d4: ", false},
		{"Failed to create web-…: …", "Failed to create web-5d4", false},
		{"Failed to create web-…: …", "Failed to create web-", false},
		{"……", "ab", true},
		{"……", "a", false},
	} {
		e, seen := Event{Type: "Normal", Reason: "R", Message: c.predicted}, Event{Type: "Normal", Reason: "R", Message: c.published}
		if got := e.Foretells(&seen); got != c.same {
			t.Errorf("%q of %q: %t", c.predicted, c.published, got)
		}
		if seen.Type = "Warning"; e.Foretells(&seen) {
			t.Errorf("%q of another type", c.predicted)
		}
		if seen = e; seen.Reason != "R" || seen.Message == "" {
			t.Error("changed by being compared")
		}
	}
}

func TestEventNames(t *testing.T) {
	e := Event{Message: `Rolled back "web", Created pod: web-1-abcde`}
	for name, want := range map[string]bool{"web": true, "web-1-abcde": true, "web-1": false, "back": true, "": false} {
		if got := e.Names(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	if open := (Event{Message: "Created pod: " + Open}); !open.Names("anything") {
		t.Error("one that leaves a name open may be of each")
	}
}
