package parity

import "testing"

func TestScenariosAreMany(t *testing.T) {
	scenarios, names := scripted(t), map[string]bool{}
	for _, scenario := range scenarios {
		if names[scenario.Name] {
			t.Errorf("%s appears twice", scenario.Name)
		}
		names[scenario.Name] = true
	}
	if len(scenarios) < fewestScripts {
		t.Errorf("%d scripted scenarios, want at least %d", len(scenarios), fewestScripts)
	}
	t.Logf("%d scripted scenarios", len(scenarios))
}

func TestMistakesInScriptsAreRefused(t *testing.T) {
	for _, text := range []string{"", "# only a comment", "craete d/web", "scale d/web"} {
		if scenario, err := Parse("mistake", text); err == nil {
			t.Errorf("%q was read as %+v", text, scenario)
		}
	}
}

func TestRandomScenariosRepeat(t *testing.T) {
	texts := map[string]bool{}
	for n := range uint64(50) {
		first, err := Random(7, n)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Random(7, n)
		if err != nil || first.Text != second.Text {
			t.Errorf("number %d differs the second time (%v)", n, err)
		}
		texts[first.Text] = true
	}
	if len(texts) < 50 {
		t.Errorf("50 numbers gave %d scenarios", len(texts))
	}
}
