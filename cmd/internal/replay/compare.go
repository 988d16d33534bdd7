package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// compare finds the first difference between the JSON of two values, nil for
// none. JSON is what was recorded: what it cannot tell apart, such as no list
// and an empty one, nobody who reads the record can.
func compare(at string, recorded, now any) *Difference {
	before, err := json.Marshal(recorded)
	if err != nil {
		return &Difference{at, "what cannot be written: " + err.Error(), "not compared"}
	}
	after, err := json.Marshal(now)
	if err != nil {
		return &Difference{at, "a value", "what cannot be written: " + err.Error()}
	}
	if bytes.Equal(before, after) {
		return nil
	}
	a, aErr := parse(before)
	b, bErr := parse(after)
	if aErr != nil || bErr != nil { // Not with what Marshal wrote.
		return &Difference{at, string(before), string(after)}
	}
	if d := first(at, a, b); d != nil {
		return d
	}
	return nil
}

// node is a JSON value whose members keep their order, so that the first
// difference is the one that comes first for the reader, too: the question
// before the action that followed from it.
type node struct {
	text    string   // of a scalar, as it stands
	keys    []string // of an object
	members map[string]*node
	items   []*node // of an array
	kind    byte    // '{', '[' or 0
}

func parse(data []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return value(d)
}

func value(d *json.Decoder) (*node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, nests := token.(json.Delim)
	if !nests {
		text, err := json.Marshal(token)
		return &node{text: string(text)}, err
	}
	n := &node{kind: byte(open), members: map[string]*node{}}
	for d.More() {
		key := ""
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ = token.(string)
		}
		inner, err := value(d)
		if err != nil {
			return nil, err
		}
		n.add(key, inner)
	}
	_, err = d.Token()
	return n, err
}

func (n *node) add(key string, inner *node) {
	if n.kind == '[' {
		n.items = append(n.items, inner)
		return
	}
	n.keys = append(n.keys, key)
	n.members[key] = inner
}

// first is the first difference of two values in the order of their members.
func first(at string, a, b *node) *Difference {
	switch {
	case a == nil || b == nil || a.kind != b.kind:
		return &Difference{at, a.String(), b.String()}
	case a.kind == '[':
		return firstItem(at, a, b)
	case a.kind == '{':
		return firstMember(at, a, b)
	case a.text != b.text:
		return &Difference{at, a.String(), b.String()}
	}
	return nil
}

func firstItem(at string, a, b *node) *Difference {
	for i := range max(len(a.items), len(b.items)) {
		var x, y *node
		if i < len(a.items) {
			x = a.items[i]
		}
		if i < len(b.items) {
			y = b.items[i]
		}
		if d := first(fmt.Sprintf("%s[%d]", at, i), x, y); d != nil {
			return d
		}
	}
	return nil
}

func firstMember(at string, a, b *node) *Difference {
	keys := a.keys
	for _, key := range b.keys {
		if a.members[key] == nil {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if d := first(at+"."+key, a.members[key], b.members[key]); d != nil {
			return d
		}
	}
	return nil
}

// longest is how much of a value is printed.
const longest = 240

// String is the value as JSON, cut off where it is long; a text stands without quotes.
func (n *node) String() string {
	text := n.json()
	if plain, err := strconv.Unquote(text); err == nil {
		text = plain
	}
	return prose.Clip(text, longest)
}

func (n *node) json() string {
	switch {
	case n == nil:
		return "nothing"
	case n.kind == '[':
		var b bytes.Buffer
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item.json())
		}
		return "[" + b.String() + "]"
	case n.kind == '{':
		var b bytes.Buffer
		for i, key := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q:%s", key, n.members[key].json())
		}
		return "{" + b.String() + "}"
	}
	return n.text
}
