package redact

import (
	"strings"
	"testing"
)

// TestPullSecretsWithLogins: the name of a pull secret that is a login, a value of a
// selector and a revision are masked where they stand alone, and what is known is kept.
func TestPullSecretsWithLogins(t *testing.T) {
	for told, want := range map[string]string{
		Line("app=web,token=hunter2"):   "app=web,token=…",
		Line("password in (a,hunter2)"): "password in (…)",
		Number("12"):                    "12",
		Number("hunter2"):               "…",
		Numbers("1,hunter2,3"):          "1,…,3",
		Image("nginx#token=hunter2"):    "nginx#…",
		Image("nginx;token=hunter2"):    "nginx;…",
	} {
		if told != want {
			t.Errorf("%q, want %q", told, want)
		}
	}
}

// TestLongWordsAreCutBetweenWords: a credential that the bound divides is not half told.
func TestLongWordsAreCutBetweenWords(t *testing.T) {
	for n := longestRead - 40; n < longestRead+5; n++ {
		got := Message(strings.Repeat("password=hunter2 ", 100) + strings.Repeat("x", n-1700) + " ghp_aaaaaaaaaahunter2aaaaaaaaaaaaa")
		if strings.Contains(got, "hunter") || !strings.HasSuffix(got, "…") || len(got) > MaxMessageBytes {
			t.Fatalf("%d: it ends with %q", n, got[len(got)-60:])
		}
	}
}

// TestLoginBehindTheCut: a word that is longer than what is read is not told, as its
// login is known by the @ behind it.
func TestLoginBehindTheCut(t *testing.T) {
	for text, want := range map[string]string{
		"Get https://user:hunter2" + strings.Repeat("x", longestRead) + "@host.example/: EOF":                                  "Get…",
		"https://user:hunter2" + strings.Repeat("x", longestRead) + "@host.example/":                                           "…",
		"a\nuser:hunter2" + strings.Repeat("x", longestRead) + "@host.example/app:1 and more words":                            "a…",
		"word " + strings.Repeat("x", MaxMessageBytes) + " user:hunter2" + strings.Repeat("x", longestRead) + "@host.example/": "word " + strings.Repeat("x", MaxMessageBytes-len("word …")) + "…",
	} {
		if got := Message(text); got != want {
			t.Errorf("it is told as %q", got)
		}
	}
}

// TestForeignWords holds what the record may hold of other people's words.
func TestForeignWords(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, c := range []struct{ name, text, want string }{
		{"plain", "pods \"a\" is forbidden: exceeded quota", "pods \"a\" is forbidden: exceeded quota"},
		{"two lines stay two", "first\n\tsecond", "first\n\tsecond"},
		{"a terminal is told nothing", "a\x1b[2Jb\x00c\u009bd", "a [2Jb c d"},
		{"reading direction", "abc\u202egnp.exe", "abc gnp.exe"},
		{"broken bytes", "a\xffb", "a\ufffdb"},
		{"a login", "Back-off pulling image \"user:pa@ss@host.example/app:1\"", "Back-off pulling image \"…@host.example/app:1\""},
		{"a login in an address", "Get https://user:pass@host.example/v2/: timeout", "Get https://…@host.example/v2/: timeout"},
		{"a token in an address", "Get \"https://host.example/v2?token=abc\": timeout", "Get \"https://host.example/v2?…\": timeout"},
		{"a digest is no login", "pull app" + digest, "pull app" + digest},
		{"a login before a digest", "u:p@host/app" + digest, "…@host/app" + digest},
		{"an address of a person", "ask ops@example.com", "ask ops@example.com"},
		{"what cannot be seen divides no credential", "pass\u200bword=hunter2 \u202ex", "password=… x"},
		{"a question", "is it there? or not", "is it there? or not"},
	} {
		got := Message(c.text)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if again := Message(got); again != got {
			t.Errorf("%s: a second time it is %q", c.name, again)
		}
	}
	long := Message(strings.Repeat("ä", MaxMessageBytes))
	if len(long) > MaxMessageBytes || len(long) < MaxMessageBytes-4 || !strings.HasSuffix(long, "ä…") || Message(long) != long {
		t.Errorf("a long message has %d bytes and ends with %q", len(long), long[len(long)-8:])
	}
}
