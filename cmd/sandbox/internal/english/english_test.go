package english

import "testing"

func TestIsEnglish(t *testing.T) {
	for locale, want := range map[string]bool{
		"": true, "C": true, "C.UTF-8": true, "POSIX": true, "en_US.UTF-8": true, "en_GB": true,
		"de_DE.UTF-8": false, "zh_CN.UTF-8": false, "CS": false, "fr": false,
	} {
		if got := isEnglish(locale); got != want {
			t.Errorf("isEnglish(%q) = %t, want %t", locale, got, want)
		}
	}
}
