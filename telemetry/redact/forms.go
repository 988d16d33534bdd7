package redact

import (
	"regexp"
	"strings"
)

// form is one way in which a credential is written. Its pattern is tried only where a
// hint begins, and is anchored there: a text without hints costs one look at each byte.
type form struct {
	// hints are in lower case and found in any.
	hints []string
	// pattern has a group where the credential stands.
	pattern *regexp.Regexp
	// apart: neither a letter nor a digit stands before the hint.
	apart bool
	// find is there in place of a pattern. It is told where a hint begins and ends.
	find func(s string, begin, end int) (from, to int)
	// likely tells a credential from a word of the language; nil for any.
	likely func(string) bool
}

// headerSign is what stands between the name of a header and its value.
const headerSign = `["'\\]{0,4}\s{0,2}[:=]\s{0,2}\[?["'\\]{0,4}`

// parameters are what some schemes have in place of a word: nonce="a", response="b".
const parameters = `\w+=\\?"[^"\n]*"(?:,\s{0,3}\w+=\\?"?[^"\s,]*"?)*`

var forms = []form{
	// Keys that nothing but a credential follows.
	keyed(keyOnly, "password", "passwd", "passphrase", "passcode", "pwd"),
	keyed(keyOnly, "client_secret", "client-secret", "clientsecret", "consumer_secret", "consumer-secret", "consumersecret", "token_secret", "token-secret", "tokensecret",
		"secret_access_key", "secretaccesskey", "secret-access-key", "secret_key_base", "secret_key", "secret-key", "secretkey", "secret_token", "secret-token", "secrettoken",
		"private_key", "private-key", "privatekey", "encryption_key", "encryption-key", "encryptionkey", "master_key", "master-key", "masterkey", "signing_key", "signing-key", "signingkey",
		"session_token", "session-token", "sessiontoken"),
	keyed(keyOnly, "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "accountkey", "account_key"),
	keyed(keyOnly, "access_token", "access-token", "accesstoken", "refresh_token", "refresh-token", "refreshtoken", "id_token", "auth_token", "auth-token", "authtoken",
		"identitytoken", "registrytoken", "security-token", "x-vault-token", "private-token", "x-amz-signature", "x-hub-signature", "x-hub-signature-256"),
	keyed(keyWord, "token", "secret", "credential", "signature"),
	keyed(keyShort, "auth", "sig", "pass", "dbpass", "userpass", "rootpass", "adminpass", "creds"),
	{hints: []string{"name", "key", "path"}, apart: true, find: env},
	// A selector.
	{hints: []string{"password", "passwd", "token", "secret", "api-key", "apikey"}, pattern: regexp.MustCompile(`^(?i)[a-z-]{3,10} (?:not)?in \(([^()]+)\)`)},
	// Headers and commands.
	{hints: []string{"authorization"}, pattern: regexp.MustCompile(`^(?i)authorization` + headerSign + `(?:bearer|basic|token|digest|apikey|negotiate|ntlm|sharedkey|sharedkeylite|sharedaccesssignature|aws4-hmac-sha256)(?:\s|%20){1,3}(` + parameters + `|[^\s"',\\\]]+)`)},
	{hints: []string{"authorization"}, pattern: regexp.MustCompile(`^Authorization` + headerSign + `([^\s"',\\\]]+)`), likely: noSentence},
	{hints: []string{"authorization"}, pattern: regexp.MustCompile(`^(?i)authorization` + headerSign + `([^\s"',\\\]]+)`), likely: random},
	{hints: []string{"bearer", "basic", "negotiate"}, apart: true, pattern: regexp.MustCompile(`^(?i)(?:bearer|basic|negotiate)(?:\s|%20){1,3}["']?([\w.~+/=-]{8,})`), likely: random},
	{hints: []string{"bearer"}, apart: true, pattern: regexp.MustCompile(`^(?i)bearer:?(?:\s|%20){1,3}["']?([\w.~+/=-]+)`), likely: notAbout},
	{hints: []string{"cookie"}, pattern: regexp.MustCompile(`^(?i)cookie["'\\]{0,2}\s{0,2}[:=]\s{0,2}([^\s;=]{1,80}=[^\s;]+(?:;\s?[\w-]+=[^\s;]+)*)`)},
	{hints: []string{" -u ", " --user"}, find: curlUser},
	{hints: []string{"token "}, pattern: regexp.MustCompile(`^(?i)token (?:id )?["']?([a-z0-9]{6}\.[a-z0-9]{16})`)}, // kubeadm
	// Addresses.
	{hints: []string{"://"}, pattern: regexp.MustCompile(`^://([^\s/]{1,200})@`)},
	{hints: []string{"%3a%2f%2f"}, pattern: regexp.MustCompile(`^(?i)%3a%2f%2f([^\s/]{1,200})%40`)},
	{hints: []string{"hooks.slack.com/services/"}, pattern: regexp.MustCompile(`^(?i)hooks.slack.com/services/([\w/]+)`)},
	// Tokens that say what they are.
	{hints: []string{"-----begin "}, pattern: regexp.MustCompile(`^(?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z0-9 ]{0,40}-----|\z))`)},
	token(`eyJ[\w-]{12,}(?:\.[\w-]*){0,4}`, "eyj"),
	token(`(?:AKIA|ASIA|AROA|ABIA)[A-Z0-9]{16,}`, "akia", "asia", "aroa", "abia"),
	token(`gh[pousr]_\w{20,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	token(`github_pat_\w{20,}`, "github_pat_"),
	token(`gl[a-z]{2,5}-[\w-]{16,}`, "gloas-", "glft-", "glagent-", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"),
	token(`(?:xox[a-z]|xapp)-[\w-]{10,}`, "xoxe-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"),
	token(`(?:npm|hf|shpat|shpss|shpca|shppa|dop_v1|doo_v1|dckr_pat|dckr_oat|sk_live|rk_live|sk_test|rk_test|whsec|glsa|rubygems)_[\w-]{16,}`, "npm_", "hf_", "shpat_", "shpss_", "shpca_", "shppa_",
		"dop_v1_", "doo_v1_", "dckr_pat_", "dckr_oat_", "sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_", "glsa_", "rubygems_"),
	token(`(?:sk-ant|sk-proj|pypi)-[\w-]{16,}`, "sk-ant-", "sk-proj-", "pypi-"),
	token(`AIza[\w-]{30,}`, "aiza"),
	token(`(?:ya29|hvs|hvb|SG)\.[\w.-]{16,}`, "ya29.", "hvs.", "hvb.", "sg."),
	token(`GOCSPX-[\w-]{16,}`, "gocspx-"),
	token(`(?:PMAK|NRAK)-[\w-]{16,}`, "pmak-", "nrak-"),
	token(`ATATT3[\w=-]{16,}`, "atatt3"),
	token(`dapi[0-9a-f]{32}`, "dapi"),
	token(`tskey-[a-z]{2,16}-[\w-]{10,}`, "tskey-"),
	token(`LS0tLS1CRUdJTi[\w+/=-]{8,}`, "ls0tls1crudjti"), // -----BEGIN
	{hints: []string{"sk-"}, apart: true, pattern: regexp.MustCompile(`^(sk-[A-Za-z0-9]{20,})`), likely: mixed},
	token(`AGE-SECRET-KEY[-]1\w{20,}`, "age-secret-key-1"),
}

// token is a form that has no key.
func token(pattern string, hints ...string) form {
	return form{hints: hints, pattern: regexp.MustCompile(`^(` + pattern + `)`), apart: true}
}

// hint is one hint of a form.
type hint struct {
	text string
	form *form
}

// three is the place of three bytes in begins, by their five lowest bits: those are the
// same for both cases of a letter.
func three(before int, next byte) int { return before>>5 | int(next&31)<<10 }

// hints are those that may begin with three bytes; begins has a bit for each that some do.
// Most texts have none of them.
var hints, begins = func() (by map[int][]hint, bits [1 << 15 / 64]uint64) {
	by = map[int][]hint{}
	for i := range forms {
		for _, text := range forms[i].hints {
			at := three(three(three(0, text[0]), text[1]), text[2])
			by[at] = append(by[at], hint{text, &forms[i]})
			bits[at/64] |= 1 << (at % 64)
		}
	}
	return by, bits
}()

// window is what is read of a value that may be no credential, in bytes: one that is
// refused is read again from the next hint on, and the whole has to stay linear.
const window = 256

// scan masks what a form finds, from left to right.
func scan(s string) string {
	var b strings.Builder
	done, last := 0, 0
	for end := range len(s) {
		last = three(last, s[end])
		if begins[last/64]&(1<<(last%64)) == 0 || end < done+2 {
			continue
		}
		if from, to := credential(s, end-2, hints[last]); to > 0 {
			b.WriteString(s[done:from])
			b.WriteString(mask)
			done = to
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// credential is where the credential stands whose form begins at i with one of the hints;
// to is 0 where none does.
func credential(s string, i int, hints []hint) (from, to int) {
	for _, h := range hints {
		if !hasFold(s[i:], h.text) || h.form.apart && i > 0 && alphanumeric(s[i-1]) {
			continue
		}
		if h.form.find != nil {
			if from, to := h.form.find(s, i, i+len(h.text)); to > from {
				return from, to
			}
			continue
		}
		end := len(s)
		if h.form.likely != nil {
			end = min(end, i+window)
		}
		m := h.form.pattern.FindStringSubmatchIndex(s[i:end])
		if m != nil && (h.form.likely == nil || h.form.likely(s[i+m[2]:i+m[3]])) {
			from, to := i+m[2], i+m[3]
			if to == end {
				to += len(s[to:]) - len(strings.TrimLeftFunc(s[to:], func(r rune) bool { return !strings.ContainsRune(" \t\n\"'`,;", r) }))
			}
			return from, to
		}
	}
	return nowhere()
}

// hasFold reports whether a text begins with one in lower case, in any case.
func hasFold(s, lowered string) bool {
	if len(s) < len(lowered) {
		return false
	}
	for j := range len(lowered) {
		if lower(s[j]) != lowered[j] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z'
}

// random reports whether a value is no word: it has a digit, ends as base64 does, or
// changes from small letters to capital ones, and is long enough.
func random(s string) bool {
	if len(s) < 8 || strings.HasSuffix(s, ":") {
		return false
	}
	if strings.HasSuffix(s, "=") || strings.ContainsAny(s, "0123456789") {
		return true
	}
	for i := 1; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' && 'a' <= s[i-1] && s[i-1] <= 'z' {
			return true
		}
	}
	return false
}

var login = regexp.MustCompile(`^[ =]?["']?[^\s:"']{1,80}:([^\s"']+)`)

// curlUser is the password behind the flag with which curl takes one. Others take a user and a group.
func curlUser(s string, begin, end int) (from, to int) {
	if !strings.Contains(s[max(0, begin-window):begin], "curl") {
		return nowhere()
	}
	m := login.FindStringSubmatchIndex(s[end:])
	if m == nil {
		return nowhere()
	}
	return end + m[2], end + m[3]
}

// mixed reports whether a word that begins with small letters has capital ones and digits.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s
}

// noSentence reports whether a word is no part of one.
func noSentence(s string) bool {
	return !inSentence(s, "") && !never(s) && !strings.EqualFold(strings.TrimRight(s, ":."), "rbac")
}

// notAbout reports whether a word after "bearer" is not about bearer tokens.
func notAbout(s string) bool {
	switch s = strings.ToLower(strings.TrimRight(s, ".=")); s {
	case "token", "tokens", "auth", "authentication", "authorization", "authenticator", "realm", "error", "scheme", "credentials", "is", "was", "or", "and":
		return false
	}
	return !strings.HasPrefix(s, "realm")
}
