package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
	"k8s.io/apiserver/pkg/server/flagz"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	configVersion = "loopscope.dev/v1alpha1"
	configKind    = "LoopscopeManagerConfiguration"
	// maxConfig bounds a configuration file, in bytes.
	maxConfig = 1 << 20
)

// configFile is a file that says what flags say, in fields of their names. It has no types of
// its own: defaults, and what is right and wrong, are those of the flags.
type configFile struct {
	sections cliflag.NamedFlagSets
	config   string // to be read, "" for none
	writeTo  string // to be written, "" for none
}

func (c *configFile) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.config, "config", "", "file with the values of flags; those that are given as flags win")
	flags.StringVar(&c.writeTo, "write-config-to", "", "write such a file with all values, and end; - writes it to the standard output")
}

// notConfigured are the sections whose flags are no fields: they are of one start, or secret.
var notConfigured = []string{"configuration", "cluster", "global"}

// fieldOf is the name of a flag as a field: kubeApiQps for kube-api-qps.
func fieldOf(flag string) string {
	var b strings.Builder
	upper := false
	for _, r := range flag {
		if r == '-' {
			upper = true
			continue
		}
		if upper {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		upper = false
	}
	return b.String()
}

// secretFlags have values that nobody is told.
var secretFlags = []string{"token", "username", "password"}

// each calls f with the flags that are fields.
func (c *configFile) each(f func(*pflag.Flag)) {
	for _, section := range c.sections.Order {
		if !slices.Contains(notConfigured, section) {
			c.sections.FlagSets[section].VisitAll(f)
		}
	}
}

// flags are the values of all flags, without those that are secret as a whole and without
// the credentials that others may hold, such as a login in an address.
func (c *configFile) flags() map[string]string {
	for _, name := range secretFlags {
		// It fails for a flag that there is not.
		_ = c.sections.FlagSet("cluster").SetAnnotation(name, "classified", []string{"true"})
	}
	values := flagz.NamedFlagSetsReader{FlagSets: c.sections}.GetFlagz()
	for name, value := range values {
		values[name] = redact.Line(value)
	}
	return values
}

// object is what a file with all values says, without credentials.
func (c *configFile) object() (map[string]any, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	if err := yaml.Unmarshal(text, &object); err != nil { // As it would be read: for others, "off" is no text.
		return nil, err
	}
	for field, value := range object {
		if text, is := value.(string); is {
			object[field] = redact.Line(text)
		}
	}
	return object, nil
}

// log tells the values of all flags, but for secrets, to a log that wants to know that much.
func (c *configFile) log(to *slog.Logger) {
	c.each(func(flag *pflag.Flag) { to.Debug("Flag", "name", flag.Name, "value", flag.Value.String()) })
}

// read sets the flags that the file has and that were not given, and says everything that is
// wrong with it, with the line.
func (c *configFile) read() error {
	if c.config == "" {
		return nil
	}
	file, err := os.Open(c.config)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if len(data) > maxConfig {
		return fmt.Errorf("--config: %s has more than %d bytes", c.config, maxConfig)
	}
	return c.parse(data)
}

func (c *configFile) parse(data []byte) error {
	var doc, more yaml.Node
	from := yaml.NewDecoder(bytes.NewReader(data))
	if err := from.Decode(&doc); err != nil {
		return fmt.Errorf("%s: %w", c.config, err)
	}
	if err := from.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there is more than one document in it", c.config)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: fields and their values are expected", c.config, root.Line)
	}
	flags := map[string]*pflag.Flag{}
	c.each(func(flag *pflag.Flag) { flags[fieldOf(flag.Name)] = flag })
	var errs []error
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		err := c.field(flags, key.Value, value)
		if seen[key.Value] {
			err = errors.New("is there twice")
		}
		if seen[key.Value] = true; err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s %w", c.config, key.Line, key.Value, err))
		}
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if !seen[field] {
			errs = append(errs, fmt.Errorf("%s: %s is missing: apiVersion: %s, kind: %s", c.config, field, configVersion, configKind))
		}
	}
	return errors.Join(errs...)
}

// field takes one field of the file.
func (c *configFile) field(flags map[string]*pflag.Flag, name string, value *yaml.Node) error {
	switch name {
	case "apiVersion":
		return only(value, configVersion)
	case "kind":
		return only(value, configKind)
	}
	flag := flags[name]
	if flag == nil {
		return errors.New("is no field: `loopscope manager --write-config-to=-` has all of them")
	}
	set, err := setter(flag, value)
	if err != nil || flag.Changed {
		return err
	}
	if err := set(); err != nil {
		return fmt.Errorf("has a value that is none: %w", err)
	}
	return nil
}

func only(value *yaml.Node, want string) error {
	if value.Value != want {
		return fmt.Errorf("is %q, want %s", value.Value, want)
	}
	return nil
}

// taken is what flags of a type take: what a person calls it, and the kinds of YAML value,
// where not every one will do.
type taken struct {
	words string
	kinds []string
}

var takes = map[string]taken{
	"bool": {"true or false", []string{"!!bool"}}, "int": {"a whole number", []string{"!!int"}}, "int32": {"a whole number", []string{"!!int"}},
	"float32": {"a number", []string{"!!int", "!!float"}}, "duration": {"a duration such as 15s", []string{"!!str"}},
	"string": {words: "a text"}, "stringSlice": {words: "a list of texts"}, "ip": {words: "an IP address"}, "int32Slice": {words: "a list of whole numbers"},
	"namedCertKey": {words: "a list of pairs of files"}, "mapStringBool": {words: "a text"}, "pattern=N,...": {words: "a text"},
}

// setter is what gives a flag a value of the file.
func setter(flag *pflag.Flag, value *yaml.Node) (func() error, error) {
	list, is := flag.Value.(pflag.SliceValue)
	t := takes[flag.Value.Type()]
	switch {
	case value.Tag == "!!null":
		return nil, errors.New("has no value: leave it out for its default")
	case is && value.Kind == yaml.SequenceNode:
		var all []string
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("has to be %s", t.words)
			}
			all = append(all, item.Value)
		}
		return func() error { return list.Replace(all) }, nil
	case is || value.Kind != yaml.ScalarNode:
		return nil, fmt.Errorf("has to be %s", t.words)
	case t.kinds != nil && !slices.Contains(t.kinds, value.Tag):
		return nil, fmt.Errorf("has to be %s, and is %q", t.words, value.Value)
	}
	return func() error { return flag.Value.Set(value.Value) }, nil
}

// write writes all values to the file that was asked for.
func (c *configFile) write(out io.Writer) error {
	text, err := c.text()
	if err != nil {
		return err
	}
	if c.writeTo == "-" {
		_, err := out.Write(text)
		return err
	}
	file, err := os.OpenFile(c.writeTo, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("--write-config-to: %w", err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("--write-config-to: %w", err)
	}
	_, err = fmt.Fprintf(out, "wrote %s\n", c.writeTo)
	return err
}

// text is all values as a file has them, each under what it is for.
func (c *configFile) text() ([]byte, error) {
	scalar := func(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("apiVersion"), scalar(configVersion), scalar("kind"), scalar(configKind)}}
	c.each(func(flag *pflag.Flag) {
		key, value := scalar(fieldOf(flag.Name)), scalar(flag.Value.String())
		key.HeadComment = flag.Usage
		if takes[flag.Value.Type()].kinds == nil {
			value.Tag = "!!str"
		}
		if list, is := flag.Value.(pflag.SliceValue); is {
			value = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, item := range list.GetSlice() {
				value.Content = append(value.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item})
			}
		}
		root.Content = append(root.Content, key, value)
	})
	var b bytes.Buffer
	to := yaml.NewEncoder(&b)
	to.SetIndent(2)
	if err := to.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), to.Close()
}
