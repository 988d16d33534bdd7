package redact

import "strings"

// key is a kind of words that stand before a credential.
type key uint8

const (
	// keyOnly: nothing but a credential follows it, or a sentence about it.
	keyOnly key = iota
	// keyWord is a word of the language: behind a colon, only what is no word is one.
	keyWord
	// keyShort means other things as well: the sign stands right behind it, or it is in quotes.
	keyShort
)

// keyed is a form of a key and a value.
func keyed(kind key, keys ...string) form {
	return form{hints: keys, apart: kind == keyShort, find: func(s string, begin, end int) (from, to int) {
		plural := kind != keyShort && end < len(s) && lower(s[end]) == 's' && !secrets(s[begin:end])
		if plural {
			end++
		}
		key := s[begin:end]
		if kind != keyShort {
			end = pastNumber(s, end)
		}
		sign, found := signAt(s, end)
		if !found {
			return flagged(s, begin, end)
		}
		from, to, quoted := valueAt(s, sign.end)
		switch word := s[from:to]; {
		case word == "" || never(word) || !quoted && sign.opens(word) || ofName(s[:begin], key) || plural && number(word):
			return nowhere()
		case sign.colon && (word == "Invalid" || word == "Unsupported" || word == "Duplicate"):
			return invalid(s, to)
		case kind == keyShort && !sign.quoted && (sign.apart || sign.colon):
			return nowhere()
		case kind == keyWord && sign.colon && !sign.quoted && !random(word):
			return nowhere()
		case !quoted && sign.quoted && sign.apart: // volume "token" : failed to mount
			return nowhere()
		case !quoted && sign.colon && inSentence(word, s[to:]):
			return nowhere()
		case !quoted:
			to = whole(s, from, to)
		}
		return from, to
	}}
}

// nowhere is the place of what is not found.
func nowhere() (from, to int) { return }

// pastNumber is behind the number of a key of which there are several: password2, PASSWORD_2.
func pastNumber(s string, i int) int {
	at := i
	if at < len(s) && strings.IndexByte("-_.", s[at]) >= 0 {
		at++
	}
	end := at
	for end < len(s) && end <= at+maxNumber && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	if end == at || end > at+maxNumber {
		return i
	}
	return end
}

// maxNumber is how many digits the number of a key may have: those of a year.
const maxNumber = 4

// secrets are counted in quotas; their plural is no key.
func secrets(key string) bool { return strings.EqualFold(key, "secret") }

// ofName reports whether a key behind that text is one that the name of a Secret follows.
func ofName(before, key string) bool {
	before = strings.TrimRight(strings.ToLower(before[max(0, len(before)-len("existing_")):]), "-_")
	return secrets(key) && (strings.HasSuffix(before, "existing") || strings.HasSuffix(before, "pull"))
}

// invalid is the value that the API server quotes when it refuses one.
func invalid(s string, i int) (from, to int) {
	const said = " value: "
	if !strings.HasPrefix(s[i:], said) {
		return nowhere()
	}
	from, to, quoted := valueAt(s, i+len(said))
	if !quoted || never(s[from:to]) {
		return nowhere()
	}
	return from, to
}

// flagged is the value of a flag that stands behind it: --password x, or "--password","x".
func flagged(s string, begin, end int) (from, to int) {
	if !flag(s, begin) {
		return nowhere()
	}
	next := pastQuote(s, end)
	list := next > end && strings.HasPrefix(s[next:], ",")
	if list {
		next++
	} else if next = end; end == len(s) || s[end] != ' ' {
		return nowhere()
	}
	from, to, quoted := valueAt(s, past(s, next, " "))
	word := s[from:to]
	if word == "" || never(word) || word[0] == '-' || list && !quoted || !quoted && inSentence(word, s[to:]) {
		return nowhere()
	}
	if !quoted {
		to = whole(s, from, to)
	}
	return from, to
}

// flag reports whether the word that holds s[i] begins with a dash.
func flag(s string, i int) bool {
	dash := false
	for n := 0; i > 0 && n < 40 && (alphanumeric(s[i-1]) || s[i-1] == '-' || s[i-1] == '_'); n++ {
		i--
		dash = s[i] == '-'
	}
	return dash
}

// env is the value of a variable or header whose name tells that it is a credential.
func env(s string, begin, end int) (from, to int) {
	sign, found := signAt(s, end)
	if !found {
		return nowhere()
	}
	from, to, _ = valueAt(s[:min(len(s), sign.end+window)], sign.end)
	if !secretive(s[from:to], lower(s[begin]) == 'k') {
		return nowhere()
	}
	to = past(s, pastQuote(s, to), " \n\t\r,")
	to = pastQuote(s, to)
	if !hasFold(s[to:], "value") {
		return nowhere()
	}
	if sign, found = signAt(s, to+len("value")); !found {
		return nowhere()
	}
	from, to, quoted := valueAt(s, sign.end)
	if word := s[from:to]; never(word) || !quoted && (sign.opens(word) || hasFold(word, "valuefrom")) {
		return nowhere()
	}
	if !quoted {
		to = whole(s, from, to)
		rest, _, more := strings.Cut(s[to:min(len(s), to+window)], "ValueFrom:")
		if more && !strings.ContainsAny(rest, "{}") {
			to += len(rest) - 1 // A value may have blanks; what tells its end is the next field.
		}
	}
	return from, to
}

// secretive reports whether a name is one of a credential. What is called a key itself
// may be that of a taint, by any name.
func secretive(name string, isKey bool) bool {
	name = strings.ToLower(name)
	for _, part := range [...]string{"pass", "pwd", "secret", "token", "_key", "cred", "auth"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return !isKey && strings.Contains(name, "key")
}

// sign is what stands between a key and its value.
type sign struct {
	end    int
	colon  bool
	quoted bool // the key is
	apart  bool // a blank stands before it
	broken bool // the value stands in the next line
}

// opens reports whether a word is no value, but what one begins with: the next line's
// key, or a brace, or the mark of a block of which nothing is left.
func (g sign) opens(word string) bool {
	return g.broken && strings.HasSuffix(word, ":") || strings.Trim(word, "|>+-{") == ""
}

// signs are in the order in which they are tried.
var signs = [...]string{"=>", ":=", "==", "=", ":", "%3d", "%3a", "%253d", "%253a"}

// signAt is the sign behind a key that ends at i.
func signAt(s string, i int) (sign, bool) {
	next := pastQuote(s, i)
	quoted := next > i
	if strings.HasPrefix(s[next:], "]=") { // data[password]=x
		next++
	}
	at := next
	for at < len(s) && at < next+2 && strings.IndexByte(" \n\t\r", s[at]) >= 0 {
		at++
	}
	for _, text := range signs {
		if hasFold(s[at:], text) {
			colon := text == ":" || text[len(text)-1] == 'a'
			end := past(s, at+len(text), " \n\t\r")
			return sign{end: end, colon: colon, quoted: quoted, apart: at > next, broken: strings.ContainsAny(s[at:end], "\n\\")}, true
		}
	}
	return sign{}, false
}

// wordEnds are the bytes that end a value without quotes.
const wordEnds = " \n\t\r\f\"'`,;&)}]\\"

// valueAt is the value that begins at i: in quotes, in brackets, a block of YAML, or the
// first bytes of a word.
func valueAt(s string, i int) (from, to int, quoted bool) {
	if i >= len(s) {
		return i, i, false
	}
	if from = pastQuote(s, i); from > i {
		return from, closing(s, from, from-i-1), true
	}
	switch s[i] {
	case '[':
		return list(s, i+1)
	case '|', '>':
		if from, to = block(s, i+1); to > from {
			return from, to, true
		}
	case '-':
		if strings.HasPrefix(s[i:], "- ") { // The first of a list in YAML.
			return valueAt(s, past(s, i+1, " "))
		}
	case ':':
		return i, i, false
	case '<':
		if to = strings.IndexByte(s[i:min(len(s), i+window)], '>'); never(s[i : i+to+1]) {
			return i, i, false
		}
	}
	return i, wordEnd(s, i, min(len(s), i+window)), false
}

// wordEnd is where a word ends that goes on at i.
func wordEnd(s string, i, limit int) int {
	for i < limit && strings.IndexByte(wordEnds, s[i]) < 0 {
		i++
	}
	return i
}

// whole is where a word ends, and the one behind it where it is but a scheme.
func whole(s string, from, to int) int {
	to = wordEnd(s, to, len(s))
	switch strings.ToLower(s[from:to]) {
	case "basic", "bearer", "token", "negotiate":
		return wordEnd(s, past(s, to, " "), len(s))
	}
	return to
}

// pastQuote is behind a quote at i, which may be escaped, even more than once.
func pastQuote(s string, i int) int {
	at := i
	for at < len(s) && at < i+15 && s[at] == '\\' {
		at++
	}
	switch {
	case at < len(s) && strings.IndexByte("\"'`", s[at]) >= 0:
		return at + 1
	case hasFold(s[i:], "%22"):
		return i + len("%22")
	}
	return i
}

// closing is where a text in quotes ends that begins at from, behind a quote with so many
// backslashes. A text that was cut off has no end: then it is that of the line.
func closing(s string, from, escaped int) int {
	quote, run := s[from-1], 0
	if quote == '2' { // %22
		quote = '%'
	}
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++
		case s[i] == quote && (run <= escaped || escaped == 0 && run%2 == 0 || quote == '%'):
			return i - run*min(escaped, 1)
		default:
			run = 0
		}
	}
	if end := strings.IndexByte(s[from:], '\n'); end >= 0 {
		return from + end
	}
	return len(s)
}

// list is all that stands in brackets, or its first word.
func list(s string, i int) (from, to int, quoted bool) {
	all, _, closed := strings.Cut(s[i:min(len(s), i+4*window)], "]")
	if to = i + len(all); closed && !inSentence(s[i:wordEnd(s, i, to)], "") {
		return i, to, true
	}
	return i, wordEnd(s, i, min(len(s), i+window)), false
}

// block is a block of YAML behind its | or >: the lines that are indented as the first is.
// Where lines were joined it is one word.
func block(s string, i int) (from, to int) {
	i = past(s, i, "+-0123456789")
	from = past(s, i, " \n\t\r")
	if from == i {
		return nowhere()
	}
	broken := strings.LastIndexByte(s[i:from], '\n')
	if broken < 0 {
		return from, wordEnd(s, from, len(s))
	}
	indent := s[i+broken : from]
	for to = from; ; {
		line, _, _ := strings.Cut(s[to:], "\n")
		if to += len(line); len(indent) < 2 || !strings.HasPrefix(s[to:], indent) {
			return from, to
		}
		to++
	}
}

// blanks bounds what may stand between a sign and its value.
const blanks = 40

// past is behind the bytes of a set at i. Of the set's line ends, those that are written
// as a backslash and a letter count as well.
func past(s string, i int, set string) int {
	for end := min(len(s), i+blanks); i < end; i++ {
		if s[i] == '\\' && i+1 < end && (s[i+1] == 'n' || s[i+1] == 't') && strings.Contains(set, "\n") {
			i++
		} else if strings.IndexByte(set, s[i]) < 0 {
			break
		}
	}
	return i
}

func number(s string) bool { return strings.Trim(s, "0123456789") == "" }
