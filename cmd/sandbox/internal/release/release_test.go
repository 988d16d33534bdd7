package release

import "testing"

func FuzzParse(f *testing.F) {
	for _, out := range []string{"Kubernetes v1.30.14\n", "Kubernetes v1.36.0-alpha.1+abc", "Kubernetes ", "v1.2.3", ""} {
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, out string) {
		version, err := Parse(out, "v1.36.3")
		if err != nil {
			return
		}
		if again, err := Parse("Kubernetes v"+version.String(), "v1.36.3"); err != nil || again.String() != version.String() {
			t.Errorf("%q is read as %s, and that as %v (%v)", out, version, again, err)
		}
	})
}
