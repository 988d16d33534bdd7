package history

import (
	"encoding"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// fieldsOf lists the fields of a type and of all types in it, a line for each struct.
func fieldsOf(t reflect.Type, lines map[string]string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		fieldsOf(t.Elem(), lines)
	case reflect.Struct:
		if lines[t.String()] != "" || t == reflect.TypeFor[time.Time]() || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.BinaryAppender]()) {
			return
		}
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Field(i).Name+" "+t.Field(i).Type.String())
		}
		lines[t.String()] = strings.Join(fields, ", ")
		for i := range t.NumField() {
			fieldsOf(t.Field(i).Type, lines)
		}
	}
}

// TestFieldsStay: a file has the values of fields in their order and no names, and is read for
// as long as its version is. A field may come behind the others of its struct, and is added to
// testdata/fields.txt then; any other change needs another version of the schema.
func TestFieldsStay(t *testing.T) {
	is := map[string]string{}
	fieldsOf(reflect.TypeFor[telemetry.Trace](), is)
	fieldsOf(reflect.TypeFor[hits](), is)
	text, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(text)) {
		name, fields, _ := strings.Cut(strings.TrimSpace(line), ": ")
		listed++
		switch now := is[name]; {
		case now == fields:
		case strings.HasPrefix(now, fields+", "):
			t.Errorf("%s has fields behind those that are listed: add them to its line, as files have them from now on:\n%s: %s", name, name, now)
		default:
			t.Errorf("%s was %q and is %q: put new fields behind the others, or give the schema another version", name, fields, now)
		}
	}
	for name, fields := range is {
		if !strings.Contains(string(text), name+": ") {
			t.Errorf("%s is not listed: %s: %s", name, name, fields)
		}
	}
	if listed != len(is) {
		t.Errorf("%d structs are listed, and there are %d", listed, len(is))
	}
}
