package situations_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// tries are how often a place may say something else than the page's JSON twin
// before it is a difference: the sentence may have moved on between two answers.
const tries = 5

var console = &http.Client{Timeout: 15 * time.Second}

// sentence is what the JSON twin says, until the clock makes it say something else.
type sentence struct {
	text, state, code string
	changesAt         time.Time
}

// twin reads the sentence from the JSON twin of the object's page.
func (g *ground) twin(t *testing.T, x subject) (sentence, error) {
	t.Helper()
	var twin struct {
		Page struct {
			Head struct {
				Sentence, Code string
				Outcome        struct{ Word string }
				Turns          time.Time
			}
		}
	}
	if err := g.fetch(t, x.path()+".json", &twin); err != nil {
		return sentence{}, err
	}
	head := twin.Page.Head
	return sentence{head.Sentence, head.Outcome.Word, head.Code, head.Turns}, nil
}

// fetch reads a page of the console, as JSON unless into is a string.
func (g *ground) fetch(t *testing.T, path string, into any) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.Dashboard+path, nil)
	if err != nil {
		return err
	}
	reply, err := console.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return &unanswered{path, reply.StatusCode}
	}
	if text, ok := into.(*string); ok {
		*text = string(body)
		return nil
	}
	return json.Unmarshal(body, into)
}

type unanswered struct {
	path   string
	status int
}

func (u *unanswered) Error() string { return fmt.Sprintf("%s answers %d", u.path, u.status) }

// place is somewhere else than the twin where a sentence is told, what it says
// when the twin says all of that, and how much of it: all, or its first half.
type place struct {
	name string
	ask  func(*ground, *testing.T, subject) (string, error)
	lead bool
}

var places = []place{
	{"page", (*ground).page, false},
	{"explain", (*ground).explain, false},
	{"top", (*ground).top, true},
	{"story", (*ground).story, false},
}

// telling is what was said of a situation, and where something else was said.
type telling struct {
	when, text string
	others     []string // "explain: ..."
}

// everywhere asks the other places for the sentence that the twin says.
func (g *ground) everywhere(t *testing.T, x subject, when, text string, holding func() error) telling {
	t.Helper()
	told := telling{when: when, text: text}
	for _, p := range places {
		if x.loop != "deployments" && p.name != "page" {
			continue // these know Deployments alone
		}
		said := ""
		left := tries
		testplane.Until(t, tellLimit, p.name+" of "+x.namespace+" "+when+" the deadline", func() error {
			answer, err := p.ask(g, t, x)
			if err != nil {
				return err
			}
			said = plain(answer, x.namespace)
			if said == text || p.lead && begins(text, said) {
				said = ""
			}
			if said == "" {
				return nil
			}
			// A comparison counts where nothing has moved on meanwhile.
			now, err := g.twin(t, x)
			if err == nil {
				err = holding()
			}
			if err != nil || plain(now.text, x.namespace) != text {
				return fmt.Errorf("it says %q, and the situation moves: %v", said, err)
			}
			if left--; left > 0 {
				return fmt.Errorf("it says %q", said)
			}
			return nil
		})
		if said != "" {
			told.others = append(told.others, p.name+": "+said)
		}
	}
	return told
}

var (
	h1   = regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>\s*(?:<p class="then">(.*?)</p>)?`)
	tags = regexp.MustCompile(`<[^>]*>`)
)

// page is the heading and the line below it, as a reader sees them.
func (g *ground) page(t *testing.T, x subject) (string, error) {
	var text string
	if err := g.fetch(t, x.path(), &text); err != nil {
		return "", err
	}
	parts := h1.FindStringSubmatch(text)
	if parts == nil {
		return "", fmt.Errorf("no heading in %.500s", text)
	}
	return html.UnescapeString(tags.ReplaceAllString(parts[1]+" "+parts[2], "")), nil
}

// explain decides once more, in a process that has seen nothing before.
func (g *ground) explain(t *testing.T, x subject) (string, error) {
	out, err := g.run(t, "explain", "deployment/"+x.name, "-n", x.namespace)
	first, _, _ := strings.Cut(out, "\n")
	return first, err
}

// begins reports whether a sentence begins with what was said, or does behind its subject and state.
func begins(text, said string) bool {
	_, rest, _ := strings.Cut(text, ": ")
	said = strings.ToLower(said)
	return strings.HasPrefix(strings.ToLower(text), said) || strings.HasPrefix(strings.ToLower(rest), said)
}

// top has a row for each Deployment, with the sentence's first half. Where the row's state is
// "on hold", it also tells what was chosen: "Paused: ...".
func (g *ground) top(t *testing.T, x subject) (string, error) {
	out, err := g.run(t, "top", "--server", g.Dashboard, "-n", x.namespace)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), 7)
		if len(cells) != 7 || cells[2] != x.namespace || cells[3] != x.name {
			continue
		}
		if cells[0] == "on hold" {
			return x.namespace + "/" + x.name + " is " + cells[6], nil
		}
		return cells[6], nil
	}
	return "", fmt.Errorf("no row of %s/%s in:\n%s", x.namespace, x.name, out)
}

// story tells of what is under way: its own sentence is that of the newest sync,
// and of a settled one there is nothing to compare.
func (g *ground) story(t *testing.T, x subject) (string, error) {
	var twin struct {
		Page struct {
			Story struct {
				Text    string
				Settled time.Time
			}
		}
	}
	err := g.fetch(t, x.path()+"/story.json", &twin)
	if u, ok := err.(*unanswered); ok && u.status == http.StatusNotFound || !twin.Page.Story.Settled.IsZero() {
		return "", nil
	}
	return twin.Page.Story.Text, err
}

func (g *ground) run(t *testing.T, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), g.loopscope, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+g.Kubeconfig)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("loopscope %v: %w: %s", args, err, failure.String())
	}
	return string(out), nil
}
