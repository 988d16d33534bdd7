package parity

import "testing"

func TestScenariosAreMany(t *testing.T) {
	scenarios, names := scripted(t), map[string]bool{}
	for _, scenario := range scenarios {
		if names[scenario.Name] {
			t.Errorf("%s is there twice", scenario.Name)
		}
		names[scenario.Name] = true
	}
	if len(scenarios) < fewestScripts {
		t.Errorf("%d scripted scenarios, want at least %d", len(scenarios), fewestScripts)
	}
	t.Logf("%d scripted scenarios", len(scenarios))
}
