package parity

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/tools/txtar"
)

// Scenario is a script: one step a line, words parted by blanks. A word that
// holds blanks stands in double quotes as a whole. "#" begins a line of comment,
// "!" a step that the API server has to refuse.
//
// Objects are KIND/NAME: d (Deployment), rs (ReplicaSet), rc
// (ReplicationController), pod, quota; rs/NAME:REVISION is the ReplicaSet of a
// Deployment that has that revision. A script about set/NAME is two scenarios,
// one with a ReplicaSet and one with a ReplicationController. Settings are FIELD=VALUE with a dotted path
// or one of the short names in settings.go, and a value in YAML.
//
//	create OBJECT SETTING...          from the manifest of its kind
//	patch OBJECT SETTING...           strategic merge
//	status OBJECT SETTING...          the same, through the status endpoint
//	scale OBJECT N                    through the scale endpoint
//	delete OBJECT|namespace [orphan|foreground]
//	undo OBJECT [REVISION]            kubectl rollout undo
//	restart OBJECT                    kubectl rollout restart, with a fixed time
//	pods SELECTOR N|all patch|status|delete SETTING...   the first N by age
//	wait OBJECT CONDITION...          until all hold; see condition.go
//	expect OBJECT CONDITION...        all hold now
//	quiet                             until nothing moves and all is settled
type Scenario struct {
	Name  string // archive/script
	About string // the script's comments
	Steps []Step
	Text  string
}

// Step is one line of a Scenario.
type Step struct {
	Line    string
	Refused bool // the API server has to say no
	Verb    string
	Words   []string
}

// ReadScenarios reads every archive of the directory, in the order of names.
func ReadScenarios(files fs.FS, dir string) ([]Scenario, error) {
	archives, err := fs.Glob(files, path.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []Scenario
	for _, name := range archives {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		archive := txtar.Parse(data)
		for _, script := range archive.Files {
			some, err := expand(strings.TrimSuffix(path.Base(name), ".txtar")+"/"+script.Name, string(script.Data))
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// expand reads a script, once for each kind that "set" stands for.
func expand(name, text string) ([]Scenario, error) {
	if !strings.Contains(text, " set/") {
		scenario, err := Parse(name, text)
		return []Scenario{scenario}, err
	}
	var both []Scenario
	for _, kind := range []string{"rs", "rc"} {
		scenario, err := Parse(name+"-"+kind, strings.ReplaceAll(text, " set/", " "+kind+"/"))
		if err != nil {
			return nil, err
		}
		both = append(both, scenario)
	}
	return both, nil
}

// Parse reads one script. It does not look into the steps' words.
func Parse(name, text string) (Scenario, error) {
	scenario := Scenario{Name: name, Text: text}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if about, comment := strings.CutPrefix(line, "#"); comment {
			scenario.About += strings.TrimSpace(about) + "\n"
			continue
		}
		if line == "" {
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			return Scenario{}, fmt.Errorf("%s: %q: %w", name, line, err)
		}
		scenario.Steps = append(scenario.Steps, step)
	}
	if len(scenario.Steps) == 0 {
		return Scenario{}, fmt.Errorf("%s: no step", name)
	}
	return scenario, nil
}

func parseStep(line string) (Step, error) {
	step := Step{Line: line}
	rest, refused := strings.CutPrefix(line, "! ")
	step.Refused = refused
	reader := csv.NewReader(strings.NewReader(rest)) // its quotes are all that a script needs
	reader.Comma, reader.LazyQuotes = ' ', true
	fields, err := reader.Read()
	if err != nil {
		return Step{}, err
	}
	for _, field := range fields {
		if field != "" {
			step.Words = append(step.Words, field)
		}
	}
	step.Verb, step.Words = step.Words[0], step.Words[1:]
	if verbs[step.Verb].do == nil {
		return Step{}, fmt.Errorf("unknown verb %q", step.Verb)
	}
	if least := verbs[step.Verb].words; len(step.Words) < least {
		return Step{}, fmt.Errorf("%s wants %d words or more", step.Verb, least)
	}
	return step, nil
}
