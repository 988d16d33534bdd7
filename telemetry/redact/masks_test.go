package redact_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// masks have what is left of a text, to the letter.
var masks = []struct {
	about string
	rows  [][2]string
}{
	{"an empty value is none", [][2]string{
		{`token=""`, `token=""`},
		{`token: ""`, `token: ""`},
		{"token in ()", "token in ()"},
		{"password=[]", "password=[]"},
	}},
	{"a plural is a key, but of no short one, not of what quotas count, and with no number", [][2]string{
		{"secrets=hunter2", "secrets=hunter2"},
		{`password="{"`, `password="…"`},
		{"password=abc:", "password=…"},
		{"auths=hunter2", "auths=hunter2"},
		{"sigs=hunter2", "sigs=hunter2"},
		{"password=4711", "password=…"},
		{"passwords=4711", "passwords=4711"},
		{"passwords2=4711", "passwords2=4711"},
		{"secrets2=hunter2", "secrets2=hunter2"},
		{"tokens=hunter2", "tokens=…"},
	}},
	{"a key may have a number, but no short one", [][2]string{
		{"password_2024=hunter2", "password_2024=…"},
		{"password_20241=hunter2", "password_20241=hunter2"},
		{"password.2=4711", "password.2=…"},
		{"password_=hunter2", "password_=hunter2"},
		{"password__2=hunter2", "password__2=hunter2"},
		{"password_2", "password_2"},
		{"password2 of them", "password2 of them"},
		{"passwords-2=hunter2", "passwords-2=…"},
		{"data[password2]=hunter2 x", "data[password2]=… x"},
		{"token2: required", "token2: required"},
		{"token-2=hunter2", "token-2=…"},
		{"--password2 hunter2", "--password2 …"},
		{"auth0=hunter2", "auth0=hunter2"},
	}},
	{"a short key needs a sign right behind it, or quotes", [][2]string{
		{"auth = hunter2", "auth = hunter2"},
		{"auth: hunter2", "auth: hunter2"},
		{"pass: hunter2", "pass: hunter2"},
		{"pass = hunter2", "pass = hunter2"},
		{`"auth" : "hunter2" x`, `"auth" : "…" x`},
		{"password : hunter2", "password : …"},
	}},
	{"a short key is no end of another word", [][2]string{
		{"zsig=hunter2", "zsig=hunter2"},
		{"asig=hunter2", "asig=hunter2"},
		{"0sig=hunter2", "0sig=hunter2"},
		{"9sig=hunter2", "9sig=hunter2"},
		{"Zsig=hunter2", "Zsig=hunter2"},
		{"Asig=hunter2", "Asig=hunter2"},
		{"[sig=hunter2", "[sig=…"},
		{"_sig=hunter2", "_sig=…"},
		{"@sig=hunter2", "@sig=…"},
		{"{sig=hunter2", "{sig=…"},
		{"/sig=hunter2", "/sig=…"},
		{":sig=hunter2", ":sig=…"},
	}},
	{"a name in quotes is no key where a sentence goes on", [][2]string{
		{`volume "password" : mounting it`, `volume "password" : mounting it`},
		{`volume "password" : hunter2`, `volume "password" : hunter2`},
		{`"password" : "hunter2" x`, `"password" : "…" x`},
	}},
	{"what the API server refuses is quoted", [][2]string{
		{"password=Invalid", "password=…"},
		{"spec.password: Invalid choice", "spec.password: Invalid choice"},
		{`spec.password: Invalid choice: "hunter2"`, `spec.password: Invalid choice: "hunter2"`},
		{`spec.password: Invalid names: "a"`, `spec.password: Invalid names: "a"`},
		{`spec.password: Invalid value: "null"`, `spec.password: Invalid value: "null"`},
		{"spec.password: Invalid value: bad", "spec.password: Invalid value: bad"},
		{`spec.password: Unsupported value: "hunter2": supported values: "a"`, `spec.password: Unsupported value: "…": supported values: "a"`},
		{`spec.password: Duplicate value: "hunter2"`, `spec.password: Duplicate value: "…"`},
		{"password: Unsupported", "password: Unsupported"},
		{"spec.token: Duplicate", "spec.token: Duplicate"},
	}},
	{"the name of a Secret is no credential", [][2]string{
		{"existing_secret=foo", "existing_secret=foo"},
		{"existing-secret=foo", "existing-secret=foo"},
		{"existingSecrets=foo", "existingSecrets=foo"},
		{"pull-secret=foo", "pull-secret=foo"},
		{"app_existing_secret=foo", "app_existing_secret=foo"},
		{"existing_secret_2=foo", "existing_secret_2=foo"},
		{"existing__secret=foo", "existing__secret=…"},
		{"existing_token=foo", "existing_token=…"},
		{"nonexisting.secret=foo", "nonexisting.secret=…"},
		{"existing_secret: foo22222", "existing_secret: foo22222"},
	}},
	{"a flag and what stands behind it", [][2]string{
		{"--password -x", "--password -x"},
		{`"--password",hunter2`, `"--password",hunter2`},
		{`--password, "hunter2"`, `--password, "hunter2"`},
		{`"--password" "hunter2"`, `"--password" "hunter2"`},
		{`--password "must"`, `--password "…"`},
		{"--password none", "--password none"},
		{"--password basic hunter2 and", "--password … and"},
		{"--password,hunter2", "--password,hunter2"},
		{"--password=hunter2 x", "--password=… x"},
		{`"--password","--token"`, `"--password","--token"`},
		{`"--password","none"`, `"--password","none"`},
		{`"--password","must" x`, `"--password","…" x`},
		{`--password \nhunter2`, `--password \nhunter2`},
		{"my_-password hunter2", "my_-password hunter2"},
		{"x--password hunter2", "x--password hunter2"},
		{"--9_password hunter2", "--9_password …"},
		{"password hunter2", "password hunter2"},
	}},
	{"a variable needs a name that tells, and a value", [][2]string{
		{"token value=hunter2 of a name", "token value=hunter2 of a name"},
		{"name: DB_PASSWORD value", "name: DB_PASSWORD value"},
		{"name: DB_PASSWORD value of it", "name: DB_PASSWORD value of it"},
		{`{"name":"DB_PASSWORD","value":"valueFrom"}`, `{"name":"DB_PASSWORD","value":"…"}`},
		{`{"name":"DB_PASSWORD","value":valueFrom}`, `{"name":"DB_PASSWORD","value":valueFrom}`},
		{"{Name:DB_PASSWORD Value:hunter2} {Name:X ValueFrom:nil}", "{Name:DB_PASSWORD Value:…} {Name:X ValueFrom:nil}"},
		{"{Name:DB_PASSWORD Value:my hunter2 ValueFrom:nil}", "{Name:DB_PASSWORD Value:… ValueFrom:nil}"},
		{"name: DB_PASSWORD\n  value: none", "name: DB_PASSWORD\n  value: none"},
		{`{"name":"DB_PASSWORD","value":"none"}`, `{"name":"DB_PASSWORD","value":"none"}`},
		{"name: DB_PASSWORD, of the value: x", "name: DB_PASSWORD, of the value: x"},
		{"rename: DB_PASSWORD value: hunter2", "rename: DB_PASSWORD value: hunter2"},
		{"{Name:DB_PASSWORD Value: ValueFrom:nil}", "{Name:DB_PASSWORD Value: ValueFrom:nil}"},
	}},
	{"signs between a key and a value", [][2]string{
		{"password  = hunter2", "password  = …"},
		{"password   = hunter2", "password   = hunter2"},
		{"token%3Ahunter", "token%3Ahunter"},
		{"token%3Dhunter", "token%3D…"},
		{"token%253Ahunter", "token%253Ahunter"},
		{"password::hunter2", "password::hunter2"},
		{"data[password]=hunter2 x", "data[password]=… x"},
		{"data[password]: x", "data[password]: x"},
		{"password:\n\tuser:", "password:\n\tuser:"},
		{"password: {", "password: {"},
		{`password:\n  hunter2`, `password:\n  …`},
		{`password:\t hunter2`, `password:\t …`},
		{`password:\`, `password:\`},
		{`password:\x hunter2`, `password:\x hunter2`},
	}},
	{"angle brackets", [][2]string{
		{"password=<hunter2>", "password=…"},
		{"password=<hunter2", "password=…"},
		{"password=<none>", "password=<none>"},
		{"password=<none> x", "password=<none> x"},
		{"password=<x", "password=…"},
		{"password=<none", "password=…"},
		{"DB_PASSWORD: <set to the key 'x'> y", "DB_PASSWORD: <set to the key 'x'> y"},
	}},
	{"a value in quotes ends with them", [][2]string{
		{`{\"password\":\"hunter\\\"2\"} x`, `{\"password\":\"…\"} x`},
		{`{\"password\":\"hunter\\"2\"} x`, `{\"password\":\"…\"} x`},
		{`%22password%22%3A%22hunter\\\%22 x`, `%22password%22%3A%22…\\\%22 x`},
		{`password="a\\" x`, `password="…" x`},
		{`password="a\" x" y`, `password="…" y`},
		{"password=\"hunter\nnext", "password=\"…\nnext"},
		{"password='hunter", "password='…"},
		{"%22password%22%3A%22hunter2%22%2C x", "%22password%22%3A%22…%22%2C x"},
		{"password=\"\nnext", "password=\"\nnext"},
	}},
	{"a list ends with its bracket", [][2]string{
		{"password=[hunter2 hunter3] and", "password=[…] and"},
		{"password=[hunter2, x", "password=[…, x"},
		{"password: [must be set]", "password: [must be set]"},
		{`password=["hunter2"] and`, "password=[…] and"},
		{`password=["must", "x"]`, "password=[…]"},
	}},
	{"a block of YAML", [][2]string{
		{"password: |x", "password: …"},
		{"password: |2-\n    hunter2\nuser: bob", "password: |2-\n    …\nuser: bob"},
		{"password: |\n  hunter2\n  hunter3\n user: bob", "password: |\n  …\n user: bob"},
		{"password: |\nhunter2\nuser: bob", "password: |\n…\nuser: bob"},
		{"password: |\n hunter2\n hunter3\nuser: bob", "password: |\n …\nuser: bob"},
		{"password: | hunter2 user: bob", "password: | … user: bob"},
		{"password: >", "password: >"},
		{"password: |\n", "password: |\n"},
		{"password: - hunter2 x", "password: - … x"},
		{"password: -  hunter2 x", "password: -  … x"},
		{"password: -hunter2", "password: …"},
	}},
	{"what looks random behind the word token", [][2]string{
		{"token: abcdefg=", "token: …"},
		{"token: abcdef=", "token: abcdef="},
		{"token: abcdEfgh", "token: …"},
		{"token: abcDefg", "token: abcDefg"},
		{"token: abcDefgh:", "token: abcDefgh:"},
		{"token: bbbbaZbb", "token: …"},
		{"token: bbbbzAbb", "token: …"},
		{"token: bbbb~Bbb", "token: bbbb~Bbb"},
		{"token: ABCDEFGHI", "token: ABCDEFGHI"},
		{"token: abcdefghi", "token: abcdefghi"},
		{"token: some-thing", "token: some-thing"},
		{"token: a1bcdef", "token: a1bcdef"},
		{"token: a1bcdefg", "token: …"},
		{`"token": hunter`, `"token": …`},
	}},
	{"keys that begin with sk have all kinds of letters", [][2]string{
		{"sk-AbcdefghijklmnopqrstuvX", "sk-AbcdefghijklmnopqrstuvX"},
		{"sk-abcdefghij1234567890", "sk-abcdefghij1234567890"},
		{"sk-Abcdefghij1234567890", "…"},
		{"xsk-Abcdefghij1234567890", "xsk-Abcdefghij1234567890"},
	}},
	{"headers, and sentences about them", [][2]string{
		{"Authorization: required", "Authorization: required"},
		{"Authorization: disabled", "Authorization: disabled"},
		{"Authorization: RBAC", "Authorization: RBAC"},
		{"Authorization: RBAC.", "Authorization: RBAC."},
		{"Authorization: hunter x", "Authorization: … x"},
		{"authorization: hunter", "authorization: hunter"},
		{"authorization: hunter22", "authorization: …"},
		{"AUTHORIZATION: Bearer hunter2", "AUTHORIZATION: Bearer …"},
		{"Bearer realm=registry", "Bearer realm=registry"},
		{"bearer realms", "bearer realms"},
		{"bearer token.", "bearer token."},
		{"bearer Hunter. x", "bearer … x"},
		{"password=basic", "password=…"},
		{"password=basic  hunter2 x", "password=… x"},
		{"password=Bearer hunter2 x", "password=… x"},
		{"Cookie: a=b; c=d x", "Cookie: … x"},
	}},
	{"curl takes a user and a password", [][2]string{
		{"curl -u admin", "curl -u admin"},
		{"curl -u admin:hunter2 -v", "curl -u admin:… -v"},
		{"curl -u admin: x", "curl -u admin: x"},
		{"x -u admin:hunter2", "x -u admin:hunter2"},
	}},
	{"words of a sentence", [][2]string{
		{`token: secret "x"`, `token: secret "x"`},
		{`password: secret \"x\" not found`, `password: secret \"x\" not found`},
		{"password: secret x", "password: … x"},
		{`password: secret "x" not found`, `password: secret "x" not found`},
		{`password: persistentvolumeclaim "x" not found`, `password: persistentvolumeclaim "x" not found`},
		{`password: persistentvolumeclaim: "x" not found`, `password: persistentvolumeclaim: "x" not found`},
		{`password: secretly "x"`, `password: … "x"`},
		{`password: hunter "x"`, `password: … "x"`},
		{"password=must", "password=…"},
		{`password: "must" x`, `password: "…" x`},
	}},
	{"words that never are a credential", [][2]string{
		{"password: <redacted>", "password: <redacted>"},
		{"password: <redacted>. x", "password: <redacted>. x"},
		{"password=none.......", "password=…"},
		{"password: required!!!!!!!!!!!!!!!", "password: …"},
		{"password: none.", "password: none."},
		{"password: nonesuch", "password: …"},
		{"password=nil:", "password=nil:"},
		{"password=NONE x", "password=NONE x"},
	}},
	{"logins and addresses", [][2]string{
		{"a:b@c", "…@c"},
		{"a@b", "a@b"},
		{"@a:b", "@a:b"},
		{":@", "…@"},
		{"https://a@h", "https://…@h"},
		{"https://a/b@h", "https://a/b@h"},
		{"https://u:p@h x", "https://…@h x"},
		{"see (https://u:p@h/v), x@y", "see (https://…@h/v), x@y"},
		{`User "oidc:a@b" x`, `User "oidc:a@b" x`},
		{`x "oidc:a@b" x`, `x "…@b" x`},
	}},
	{"questions", [][2]string{
		{"https://a/b?resourceVersion=1234567890123456789", "https://a/b?resourceVersion=1234567890123456789"},
		{"https://a/b?resourceVersion=12345678901234567890", "https://a/b?…"},
		{"https://a/b?watch=false", "https://a/b?watch=false"},
		{"https://a/b?watch=", "https://a/b?…"},
		{"https://a/b?", "https://a/b?"},
		{"a?b=c", "a?b=c"},
		{"https://a/b?limit=5&x=1&y=2&limit=3", "https://a/b?limit=5&…&limit=3"},
	}},
}

func TestMasksToTheLetter(t *testing.T) {
	for _, group := range masks {
		for _, row := range group.rows {
			if got := redact.Text(row[0]); got != row[1] {
				t.Errorf("%s: %q becomes %q, want %q", group.about, row[0], got, row[1])
			}
		}
	}
}

// TestMasksAtBounds: what is read of a text around a key has an end, so that a text
// made up of keys is gone through in linear time.
func TestMasksAtBounds(t *testing.T) {
	for _, c := range []struct {
		about       string
		before      string
		repeated    string
		within      int // how often it may stand there
		after, want string
	}{
		{"the dash of a flag", "-", "a", 39, "password hunter2", "password …"},
		{"backslashes before a quote", "password=", "\\", 15, "\"hunter2 x\"", "\"…\""},
		{"blanks behind the dash of a list", "password: -", " ", 40, "hunter2", "…"},
		{"blanks before the end of a line", "password:", " ", 38, `\nhunter2`, `\n…`},
		{"the name of a variable", "name: ", "x", 251, "token value: hunter2", "token value: …"},
		{"blanks behind a sign", "password:", " ", 40, "hunter2", "…"},
		{"the command before a flag", "curl", " ", 252, " -u admin:hunter2", " -u admin:…"},
	} {
		for n, want := range map[int]string{c.within: c.want, c.within + 1: c.after} {
			sentence := c.before + strings.Repeat(c.repeated, n)
			if got := redact.Text(sentence + c.after); got != sentence+want {
				t.Errorf("%s, %d times %q: %q, want %q", c.about, n, c.repeated, got, sentence+want)
			}
		}
	}
}

// TestMasksOfLongValues: only so much is read of a value that may be no credential.
func TestMasksOfLongValues(t *testing.T) {
	n := strings.Repeat
	for _, row := range [][2]string{
		{"token: " + n("a", 255) + "1 x", "token: … x"}, // It has a digit,
		{"token: " + n("a", 256) + "1 x", "token: " + n("a", 256) + "1 x"},
		{"token: [" + n("a", 255) + "1 x", "token: [… x"},
		{"token: [" + n("a", 256) + "1 x", "token: [" + n("a", 256) + "1 x"},
		{"basic " + n("a", 249) + "1 x", "basic … x"},
		{"basic " + n("a", 250) + "1 x", "basic " + n("a", 250) + "1 x"},
		{"basic abcdefg1!x " + n("a", 250), "basic …!x " + n("a", 250)}, // or it ends long before.
		{"Value:{Name:DB_PASSWORD Value:a" + n(" ", 246) + "ValueFrom:nil}", "Value:{Name:DB_PASSWORD Value:… ValueFrom:nil}"},
		{"Value:{Name:DB_PASSWORD Value:a" + n(" ", 247) + "ValueFrom:nil}", "Value:{Name:DB_PASSWORD Value:…" + n(" ", 247) + "ValueFrom:nil}"},
		{"password: <set to the key " + n("k", 239) + ">", "password: <set to the key " + n("k", 239) + ">"},
		{"password: <set to the key " + n("k", 240) + ">", "password: … to the key " + n("k", 240) + ">"},
		{"password=[q " + n("b", 1021) + "] x", "password=[…] x"},
		{"password=[q " + n("b", 1022) + "] x", "password=[… " + n("b", 1022) + "] x"},
		{"https://" + n("a", 201) + "@host", "https://…@host"},
	} {
		if got := redact.Text(row[0]); got != row[1] {
			t.Errorf("%q becomes %q, want %q", row[0], got, row[1])
		}
	}
}

// TestHarmlessTextsAreNotCopied: most of what is read has no credential.
func TestHarmlessTextsAreNotCopied(t *testing.T) {
	const text = "the name of a key and the path to a token are no credential"
	if unsafe.StringData(redact.Text(text)) != unsafe.StringData(text) {
		t.Error("it is copied")
	}
}
