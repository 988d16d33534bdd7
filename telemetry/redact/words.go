package redact

import "strings"

// noCredentials are values that say what something is, and never are a credential.
var noCredentials = set("true false none null nil <nil> <none> <unset> <redacted> enabled disabled")

// never reports whether a value is no credential, wherever it stands.
func never(value string) bool {
	return len(value) <= len("<redacted>") && noCredentials[strings.ToLower(strings.TrimRight(value, ".:"))] || strings.HasPrefix(value, "<set to the key")
}

// proseWords are those that go on with a sentence behind a key and a colon, or a flag.
var proseWords = set(`a about access after already an and any are argument as at authentication authorization bad be because been before being but by
	can cannot changed command connection contains context could couldn data denied deprecated dial did didn do does doesn don
	eof either empty error errors exceeds exec executable exists exit expected expired expires failed field file flag flags for forbidden found from
	get given got had has hasn have hostpath http https if illegal in incorrect insufficient internal invalid is isn it its
	length less lookup lstat malformed may mismatch missing more must needs neither no non nor not of on only open option or out
	parameter permission please provided read references refused rejected required requires rpc
	see set sets should specified stat status such than that the there they this timed timeout to too tried try trying
	unable unauthorized undefined unexpected unknown unset unsupported usage use used user using value values
	was wasn we were when which will with within without won would write wrong you your`)

// kinds of objects go on with a sentence where a name in quotes follows.
var kinds = set("secret secrets configmap configmaps pod pods serviceaccount serviceaccounts namespace namespaces node nodes volume persistentvolumeclaim container key keys token password")

// inSentence reports whether a word belongs to a sentence and is no value. The rest is what follows it.
func inSentence(word, rest string) bool {
	if len(word) > len("persistentvolumeclaim:") {
		return false
	}
	word = strings.ToLower(strings.TrimRight(word, ":.!?"))
	return proseWords[word] || kinds[word] && (strings.HasPrefix(rest, ` "`) || strings.HasPrefix(rest, ` \"`))
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}
